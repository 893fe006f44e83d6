#include "chat/reply_parser.h"

#include <gtest/gtest.h>

#include "chat/reply_derive.h"
#include "chat/reply_value.h"

namespace minfer::chat {
namespace {

constexpr std::string_view kTools = R"([
 {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
  "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
                 "id": {"type": "string"}}}}},
 {"type": "function", "function": {"name": "now"}}])";

ToolSet tools() { return *parse_tools(*parse_json(kTools)); }

ReplyFormat hermes() {
  ReplyFormat format;
  format.reasoning.begin = "<think>";
  format.reasoning.end = "</think>";
  format.calls.shape = CallShape::kObject;
  format.calls.call_begin = "<tool_call>\n";
  format.calls.call_end = "\n</tool_call>";
  format.calls.name_key = "name";
  format.calls.arguments_key = "arguments";
  return format;
}

struct Piece {
  std::string bytes;
  bool is_control = false;
};

// Everything that came, as one readable line, and the reply.
struct Heard {
  std::string log;
  Reply reply;
};

Heard hear(const ReplyFormat& format, const std::vector<Piece>& pieces,
           ReplyStart start = ReplyStart::kAnswer, const ToolSet& set = tools()) {
  ReplyOptions options;
  options.start = start;
  options.tools = &set;
  ReplyParser parser(format, options);
  Heard heard;
  const auto take = [&](const std::vector<ReplyEvent>& events) {
    for (const ReplyEvent& e : events) {
      switch (e.kind) {
        case ReplyEvent::Kind::kContent:
          heard.log += "C(" + e.text + ")";
          break;
        case ReplyEvent::Kind::kReasoning:
          heard.log += "R(" + e.text + ")";
          break;
        case ReplyEvent::Kind::kCallBegin:
          heard.log += "B" + std::to_string(e.call) + "(" + e.name + ")";
          EXPECT_EQ(e.id.size(), 9U);
          break;
        case ReplyEvent::Kind::kCallArguments:
          heard.log += "A" + std::to_string(e.call) + "(" + e.text + ")";
          break;
        case ReplyEvent::Kind::kCallEnd:
          heard.log += "E" + std::to_string(e.call);
          break;
        case ReplyEvent::Kind::kCallDropped:
          heard.log += "D" + std::to_string(e.call);
          break;
      }
    }
  };
  for (const Piece& piece : pieces) take(parser.feed(piece.bytes, piece.is_control));
  take(parser.finish());
  heard.reply = parser.reply();
  return heard;
}

std::string heard(const ReplyFormat& format, std::string_view text,
                  ReplyStart start = ReplyStart::kAnswer) {
  return hear(format, {{std::string(text), false}}, start).log;
}

TEST(ReplyParser, SplitsReasoning) {
  EXPECT_EQ(heard(hermes(), "<think>\nLet me see.\n</think>\n\nHello"), "R(Let me see.)C(Hello)");
  EXPECT_EQ(heard(hermes(), "Let me see.\n</think>\n\nHello", ReplyStart::kThought),
            "R(Let me see.)C(Hello)");
  EXPECT_EQ(heard(hermes(), "<think>\n\n</think>\n\nHello"), "C(Hello)");
  EXPECT_EQ(heard(hermes(), "\n\nHello\n", ReplyStart::kAfterThought), "C(Hello)C(\n)");
  // A thought that is cut off stays one; a mark later in the answer is text.
  EXPECT_EQ(heard(hermes(), "<think>a </thi"), "R(a)R( </thi)");
  EXPECT_EQ(heard(hermes(), "The tag <think> opens a thought.\n"),
            "C(The tag <think> opens a thought.)C(\n)");
}

TEST(ReplyParser, CaseT02CallLeavesContentEmpty) {
  const Heard h = hear(hermes(), {{"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
                                   "{\"city\": \"Łódź\"}}\n</tool_call>",
                                   false}});
  EXPECT_EQ(h.log, R"(B0(get_weather)A0({"city": "Łódź"})E0)");
  EXPECT_EQ(h.reply.content, "");
  ASSERT_EQ(h.reply.tool_calls.size(), 1U);
  EXPECT_EQ(h.reply.tool_calls[0].arguments, R"({"city": "Łódź"})");
}

TEST(ReplyParser, CaseT03ParallelCallsAreStreamed) {
  const std::string text =
      "Sure.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n"
      "</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  std::vector<Piece> bytes;
  for (const char c : text) bytes.push_back({std::string(1, c), false});
  const Heard h = hear(hermes(), bytes);
  EXPECT_EQ(h.log.substr(0, 54), "C(S)C(u)C(r)C(e)C(.)B0(get_weather)A0({)A0(\")A0(c)A0(i");
  EXPECT_NE(h.log.find("E0B1(now)A1({)A1(})E1"), std::string::npos) << h.log;
  ASSERT_EQ(h.reply.tool_calls.size(), 2U);
  EXPECT_NE(h.reply.tool_calls[0].id, h.reply.tool_calls[1].id);
  EXPECT_EQ(h.reply.tool_calls[0].arguments, R"({"city": "Rome"})");
  EXPECT_EQ(h.reply.content, "Sure.");
}

TEST(ReplyParser, WhatIsNoCallIsContent) {
  const ReplyFormat f = hermes();
  for (const char* text : {
           "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>",
           "a <tool_call> is a tag",
           "<tool_call>\n{\"name\": \"now\"",
           "<tool_call>\n{\"arguments\": {}}\n</tool_call>",
           "<tool_call>\n{\"name\": \"now\", \"arguments\": [1]}\n</tool_call>",
           "<tool_cal",
       }) {
    const Heard h = hear(f, {{text, false}});
    EXPECT_EQ(h.reply.content, text);
    EXPECT_TRUE(h.reply.tool_calls.empty()) << text;
  }
  // One that began already is taken back.
  EXPECT_EQ(heard(f, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ro"),
            "B0(get_weather)A0({\"city\": \"Ro)D0C(<tool_call>\n{\"name\": \"get_weather\", "
            "\"arguments\": {\"city\": \"Ro)");
  // A good one behind a bad one is found.
  EXPECT_EQ(
      heard(f, "<tool_call> no <tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>"),
      "C(<tool_call> no)B0(now)A0({})E0");
}

TEST(ReplyParser, ArgumentsInEveryOrderAndForm) {
  const ReplyFormat f = hermes();
  const std::string want = R"(B0(get_weather)A0({"city": "x", "days": 2})E0)";
  for (const char* text : {
           R"({"name":"get_weather","arguments":{"city":"x","days":2}})",
           R"({"arguments": {"city": "x", "days": 2}, "name": "get_weather"})",
           R"({"name": "get_weather", "arguments": "{\"city\": \"x\", \"days\": 2}"})",
           R"({"id": "7", "name": "get_weather", "parameters": {"city": "x", "days": 2}})",
       }) {
    EXPECT_EQ(heard(f, "<tool_call>" + std::string(text) + "</tool_call>"), want) << text;
  }
  EXPECT_EQ(heard(f, R"(<tool_call>{"name": "now", "arguments": null}</tool_call>)"),
            "B0(now)A0({})E0");
  EXPECT_EQ(heard(f, R"(<tool_call>{"name": "now"}</tool_call>)"), "B0(now)A0({})E0");
}

TEST(ReplyParser, ControlTokensAreSeenAndNeverShown) {
  const ReplyFormat f = hermes();
  EXPECT_EQ(hear(f, {{"<think>", true},
                     {"a", false},
                     {"</think>", true},
                     {"b", false},
                     {"<|pad|>", true},
                     {"c", false},
                     {"<|im_end|>", true}})
                .log,
            "R(a)C(b)C(c)");
  EXPECT_EQ(hear(f, {{"<tool_call>", true}, {"{\"name\": \"no", false}}).reply.content,
            "{\"name\": \"no");
}

TEST(ReplyParser, WithoutToolsThereAreNoCalls) {
  const std::string text = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(hear(hermes(), {{text, false}}, ReplyStart::kAnswer, ToolSet{}).reply.content, text);
}

TEST(ReplyParser, HeldBackIsTheBeginningOfAMark) {
  const ToolSet set = tools();
  const ReplyFormat f = hermes();
  ReplyOptions options;
  options.tools = &set;
  ReplyParser parser(f, options);
  EXPECT_EQ(parser.feed("a<tool", false).at(0).text, "a");
  EXPECT_EQ(parser.feed("box>", false).at(0).text, "<toolbox>");
  EXPECT_TRUE(parser.feed("\n", false).empty());
  EXPECT_EQ(parser.feed("b", false).at(0).text, "\nb");
}

TEST(ReplyValue, Notations) {
  const auto read = [](ValueNotation notation, std::string_view text, std::string_view quote) {
    ValueReader reader(notation, quote, true);
    std::string out;
    std::size_t used = 0;
    const auto state = reader.read(text, used, out);
    return state == ValueReader::State::kDone ? out : "BAD " + out;
  };
  EXPECT_EQ(read(ValueNotation::kJson, R"({"a":[1,-2.5e3 ,true,null,{"b":"\u00e9\"\n"}]})", ""),
            R"({"a": [1, -2.5e3, true, null, {"b": "\u00e9\"\n"}]})");
  EXPECT_EQ(
      read(ValueNotation::kPython, R"((a='it\'s "x"', b=[True, None, (1, 2,)], c={'d': 1.5}))", ""),
      R"({"a": "it's \"x\"", "b": [true, null, [1, 2]], "c": {"d": 1.5}})");
  EXPECT_EQ(
      read(ValueNotation::kQuoted, R"({a:<|"|>x"y\<|"|>,b:[1,true],c:{d:<|"|><|"|>}})", R"(<|"|>)"),
      R"({"a": "x\"y\\", "b": [1, true], "c": {"d": ""}})");
  for (const char* bad : {R"({"a": 01})", R"({"a" 1})", R"({"a": 1,})", "[1]", R"({"a": "\x"})",
                          R"({a: 1})", R"({"a": nul})"}) {
    EXPECT_EQ(read(ValueNotation::kJson, bad, "").substr(0, 3), "BAD") << bad;
  }
}

TEST(ToolSchema, ErrorsByPath) {
  const auto error = [](const char* json) {
    const auto set = parse_tools(*parse_json(json));
    return set.ok() ? std::string() : set.status().message();
  };
  EXPECT_EQ(error("null"), "");
  EXPECT_EQ(error("{}"), "tools: an array is needed");
  EXPECT_EQ(error(R"([{"type": "x"}])"), "tools[0].type: only \"function\" is known");
  EXPECT_EQ(error(R"([{"type": "function"}])"), "tools[0].function: an object is needed");
  EXPECT_EQ(error(R"([{"type": "function", "function": {"name": "a b"}}])"),
            "tools[0].function.name: 1 to 64 letters, digits, '_', '-' or '.' are needed");
  EXPECT_EQ(error(R"([{"type": "function", "function": {"name": "a"}},
                      {"type": "function", "function": {"name": "a"}}])"),
            "tools[1].function.name: there are two tools \"a\"");
  EXPECT_EQ(error(R"([{"type": "function", "function": {"name": "a", "parameters": 1}}])"),
            "tools[0].function.parameters: a JSON Schema object is needed");
  const ToolSet set = tools();
  EXPECT_EQ(parse_tool_choice(*parse_json(R"("maybe")"), set).ok(), false);
  EXPECT_EQ(
      parse_tool_choice(*parse_json(R"({"type": "function", "function": {"name": "nope"}})"), set)
          .status()
          .message(),
      "tool_choice: no tool is named \"nope\"");
  EXPECT_EQ(parse_tool_choice(JsonValue{}, set)->kind, ToolChoice::Kind::kAuto);
  EXPECT_EQ(parse_tool_choice(JsonValue{}, ToolSet{})->kind, ToolChoice::Kind::kNone);
  EXPECT_EQ(parse_tool_choice("required", ToolSet{}).status().message(),
            "tool_choice: \"required\" needs tools");
  EXPECT_EQ(parse_tool_choice("now", set)->name, "now");
}

}  // namespace
}  // namespace minfer::chat
