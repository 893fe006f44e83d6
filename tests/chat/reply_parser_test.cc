#include "chat/reply_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "chat/reply_derive.h"
#include "chat/reply_marks.h"
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

TEST(ReplyParser, NothingElseIsHeldBack) {
  const ToolSet set = tools();
  const ReplyFormat f = hermes();
  ReplyOptions options;
  options.tools = &set;
  constexpr std::string_view kPieces[] = {"<", "<tool", "_cal", "<thi", "nk",
                                          "x", " ",     "\n",   "</t"};
  std::mt19937_64 random(3);
  for (int n = 0; n < 300; ++n) {
    ReplyParser parser(f, options);
    std::string text = "x";
    std::string given;
    const auto take = [&](const std::vector<ReplyEvent>& events) {
      for (const ReplyEvent& event : events) given += event.text;
    };
    take(parser.feed(text, false));
    for (int i = 0; i < 12; ++i) {
      const std::string_view piece = kPieces[random() % std::size(kPieces)];
      text += piece;
      take(parser.feed(piece, false));
      ASSERT_TRUE(text.starts_with(given));
      std::string_view held = std::string_view(text).substr(given.size());
      held.remove_prefix(std::min(held.find_first_not_of(kBlanks), held.size()));
      EXPECT_TRUE(std::string_view("<tool_call>").starts_with(held)) << text << "|" << given;
    }
    take(parser.finish());
    EXPECT_EQ(given, text);
    EXPECT_EQ(parser.reply().content, text);
  }
}

ReplyFormat family(std::string_view name) {
  for (const CallFamily& row : call_families()) {
    if (row.format.family != name) continue;
    ReplyFormat format;
    format.calls = row.format;
    return format;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(ReplyParser, EveryFamily) {
  const std::string want = R"(B0(get_weather)A0({"city": "Ro<me", "days": 2})E0)";
  const std::pair<const char*, const char*> cases[] = {
      {"Hermes",
       R"(<tool_call>{"name":"get_weather","arguments":{"city":"Ro<me","days":2}}</tool_call>)"},
      {"Qwen3-Coder",
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nRo<me\n</parameter>\n"
       "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"},
      {"GLM",
       "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Ro<me</arg_value>\n"
       "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>"},
      {"Llama 3", R"( {"name": "get_weather", "parameters": {"city": "Ro<me", "days": 2}})"},
      {"Mistral",
       R"([TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Ro<me", "days": 2}}])"},
      {"Mistral with ids",
       R"([TOOL_CALLS]get_weather[CALL_ID]abcdefgh1[ARGS]{"city": "Ro<me", "days": 2})"},
      {"Mistral with names", R"([TOOL_CALLS]get_weather[ARGS]{"city": "Ro<me", "days": 2})"},
      {"DeepSeek",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
       "```json\n{\"city\": \"Ro<me\", \"days\": 2}\n```<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>"},
      {"DeepSeek 3.1",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
       "{\"city\": \"Ro<me\", \"days\": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"DeepSeek DSML",
       "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
       "<｜DSML｜parameter name=\"city\" string=\"true\">Ro<me</｜DSML｜parameter>\n"
       "<｜DSML｜parameter name=\"days\" string=\"false\">2</｜DSML｜parameter>\n"
       "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"},
      {"Kimi",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
       "<|tool_call_argument_begin|>{\"city\": \"Ro<me\", \"days\": 2}<|tool_call_end|>"
       "<|tool_calls_section_end|>"},
      {"Gemma", R"(<|tool_call>call:get_weather{city:<|"|>Ro<me<|"|>,days:2}<tool_call|>)"},
      {"LFM", "<|tool_call_start|>[get_weather(city='Ro<me', days=2)]<|tool_call_end|>"},
      {"Granite",
       R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Ro<me", "days": 2}}])"},
      {"Functionary", R"(<function=get_weather>{"city": "Ro<me", "days": 2}</function>)"},
  };
  EXPECT_EQ(std::size(cases), call_families().size());
  for (const auto& [name, text] : cases) {
    SCOPED_TRACE(name);
    const Heard whole = hear(family(name), {{text, false}});
    EXPECT_EQ(whole.log, want);
    EXPECT_EQ(whole.reply.content, "");
    // Cut anywhere, and cut off anywhere.
    for (std::size_t at = 1; at < std::string_view(text).size(); ++at) {
      const std::string head(text, at);
      const Reply cut = hear(family(name), {{head, false}, {text + at, false}}).reply;
      EXPECT_EQ(cut.content, "");
      ASSERT_EQ(cut.tool_calls.size(), 1U) << head;
      EXPECT_EQ(cut.tool_calls[0].arguments, whole.reply.tool_calls[0].arguments) << head;
      const Reply off = hear(family(name), {{head, false}}).reply;
      EXPECT_EQ(off.content, off.tool_calls.empty() ? head : "");
    }
  }
}

TEST(ReplyParser, MessagesWithHeaders) {
  ReplyFormat f;
  f.headers = {"<|start|>assistant", "<|message|>", "<|channel|>analysis", "<|channel|>final",
               "to=functions."};
  f.reasoning.end = "<|end|>";
  f.calls.shape = CallShape::kNameArguments;
  f.calls.name_end = "<|channel|>commentary json<|message|>";
  EXPECT_EQ(heard(f,
                  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
                  "<|message|>Hi<|return|>",
                  ReplyStart::kHeader),
            "R(Hm.)C(Hi<|return|>)");
  for (const char* header : {"<|channel|>commentary to=functions.now <|constrain|>json<|message|>",
                             " to=functions.now<|channel|>commentary json<|message|>"}) {
    EXPECT_EQ(heard(f,
                    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" +
                        std::string(header) + "{}",
                    ReplyStart::kHeader),
              "R(Hm.)B0(now)A0({})E0");
  }
  EXPECT_EQ(hear(f,
                 {{"<|channel|>", true},
                  {"commentary to=functions.no", false},
                  {"<|message|>", true},
                  {"{}", false}},
                 ReplyStart::kHeader)
                .reply.content,
            "commentary to=functions.no{}");
}

TEST(ReplyParser, ParametersBySchema) {
  const ReplyFormat f = family("GLM");
  const auto arguments = [&](const std::string& key, const std::string& value) {
    return hear(f, {{"<tool_call>get_weather<arg_key>" + key + "</arg_key><arg_value>" + value +
                         "</arg_value></tool_call>",
                     false}})
        .reply.tool_calls.at(0)
        .arguments;
  };
  // A text by its schema stays one, whatever it looks like.
  EXPECT_EQ(arguments("id", "007"), R"({"id": "007"})");
  EXPECT_EQ(arguments("id", "{\"a\"}"), R"({"id": "{\"a\"}"})");
  EXPECT_EQ(arguments("days", "7"), R"({"days": 7})");
  EXPECT_EQ(arguments("days", "seven"), R"({"days": "seven"})");
  EXPECT_EQ(arguments("other", "[True, 'x']"), R"({"other": [true, "x"]})");
  EXPECT_EQ(arguments("other", "007"), R"({"other": "007"})");
  EXPECT_EQ(arguments("other", "<![CDATA[a </arg_value> b]]>"), R"({"other": "a </arg_value> b"})");
  // Parameters may be missing behind a cut, so the end mark must come.
  EXPECT_TRUE(hear(f, {{"<tool_call>now", false}}).reply.tool_calls.empty());
  EXPECT_EQ(heard(f, "<tool_call>now</tool_call>"), "B0(now)A0({})E0");
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

TEST(ReplyParser, what_looks_like_a_bare_call_and_is_none_is_text) {
  // The name stands first, without a mark before it, so that nothing was read when it is none.
  const auto source = Template::parse(
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.tool_calls %}[CALLS][{% for c "
      "in "
      "m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k "
      "}}='{{ v }}'{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor "
      "%}]{% endif %}[/]{% endfor %}");
  ASSERT_TRUE(source.ok());
  ReplyFormat format = derive_reply_format(*source, {});
  format.calls.section_begin.clear();
  format.calls.call_begin.clear();
  const auto tools =
      parse_tools(*parse_json(R"([{"type": "function", "function": {"name": "f"}}])"));
  ASSERT_TRUE(tools.ok());
  ReplyOptions options;
  options.tools = &*tools;
  ReplyParser parser(format, options);
  parser.feed("{% no call", false);
  parser.finish();
  EXPECT_EQ(parser.reply().content, "{% no call");
}

}  // namespace
}  // namespace minfer::chat
