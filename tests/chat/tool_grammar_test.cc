// The grammar of calls: what it writes is what the parser reads, and arguments fit their schemas.
#include "chat/tool_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "chat/reply_derive.h"
#include "chat/reply_marks.h"
#include "chat/reply_parameter.h"
#include "chat/reply_parser.h"
#include "chat/reply_value.h"
#include "chat/tool_prompt.h"
#include "sampling/grammar/grammar.h"
#include "sampling/json_schema/json_schema.h"
#include "tests/chat/golden_folder.h"

namespace minfer::chat {
namespace {

constexpr std::string_view kTools = R"([
 {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
  "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
    "unit": {"enum": ["C", "F"]}, "exact": {"type": "boolean"},
    "hours": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}},
  "required": ["city", "days"], "additionalProperties": false}}},
 {"type": "function", "function": {"name": "now"}}])";

ToolSet tools() { return *parse_tools(*parse_json(kTools)); }

// Rules and schemas as one GBNF text.
std::string whole(const ToolGrammar& grammar) {
  std::string out = grammar.rules;
  for (const SchemaRule& schema : grammar.schemas) {
    const auto rules = sampling::json_schema_to_gbnf(
        schema.schema,
        {.root = schema.rule, .prefix = schema.rule + "-", .bare_end = schema.bare_end});
    EXPECT_TRUE(rules.ok()) << schema.path << ": " << rules.status().message();
    if (rules.ok()) out += *rules;
  }
  return out;
}

std::string gbnf_of(const ReplyFormat& format, const ToolChoice& choice, ReplyStart start) {
  const ToolSet set = tools();
  ToolGrammarOptions options;
  options.choice = choice;
  options.start = start;
  const auto grammar = make_tool_grammar(format, set, options);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return grammar.ok() ? whole(*grammar) : "";
}

// A random text of the grammar: at each place one of the bytes that may come. Empty: it was not
// over soon.
std::string random_text(const sampling::Grammar& grammar, const ReplyFormat& format,
                        std::mt19937_64& random) {
  // What ends free texts, which chance would hardly find.
  const std::string ends[] = {parameter_end_mark(format.calls, "city"),
                              std::string(trimmed(format.reasoning.end)), format.calls.quote};
  sampling::Machine machine(grammar.program());
  sampling::StateId state = *machine.start();
  sampling::PartialChar partial;
  std::string text;
  for (int n = 0; n < 3000; ++n) {
    const bool complete = partial.empty() && machine.is_complete(state);
    std::string next;
    for (int c = 9; c < 256; ++c) {
      if (c == 11 || c == 12 || (c > 13 && c < 32)) continue;
      if (c > 127 && !next.empty()) break;  // marks hold other characters, texts need not
      auto behind = partial;
      const auto to = step_byte(machine, state, behind, static_cast<std::uint8_t>(c));
      if (to.ok() && *to != sampling::kDead) next += static_cast<char>(c);
    }
    if (next.empty() || (complete && random() % 2 == 0)) return complete ? text : "";
    char c = next[random() % next.size()];
    if (next.size() > 40 && random() % 10 != 0) c = next[next.find('"') % next.size()];
    for (const std::string& end : ends) {
      std::size_t read = std::min(text.size(), end.size());
      while (read > 0 && !text.ends_with(end.substr(0, read))) --read;
      const bool goes_on =
          next.size() > 40 && read < end.size() && random() % 10 < (read > 0 ? 9 : 2);
      if (goes_on && next.find(end[read]) != std::string::npos) c = end[read];
    }
    state = *step_byte(machine, state, partial, static_cast<std::uint8_t>(c));
    text += c;
  }
  return "";
}

Reply parse(const ReplyFormat& format, const ToolSet& set, ReplyStart start,
            std::string_view text) {
  ReplyOptions options;
  options.start = start;
  options.tools = &set;
  ReplyParser parser(format, options);
  (void)parser.feed(text, false);
  (void)parser.finish();
  return parser.reply();
}

void check_arguments(const ToolCall& call) {
  const auto arguments = parse_json(call.arguments);
  ASSERT_TRUE(arguments.ok()) << call.arguments;
  if (call.name == "now") {
    EXPECT_TRUE(arguments->object() != nullptr) << call.arguments;
    return;
  }
  for (const auto& [key, value] : *arguments->object()) {
    const auto* number = std::get_if<std::int64_t>(&value.data);
    if (key == "city") {
      EXPECT_NE(value.string(), nullptr) << call.arguments;
    }
    if (key == "days") {
      ASSERT_NE(number, nullptr) << call.arguments;
      EXPECT_TRUE(*number >= 1 && *number <= 9);
    }
    if (key == "unit") {
      EXPECT_TRUE(*value.string() == "C" || *value.string() == "F");
    }
    if (key == "exact") {
      EXPECT_TRUE(std::holds_alternative<bool>(value.data)) << call.arguments;
    }
    if (key == "hours") {
      EXPECT_NE(value.array(), nullptr) << call.arguments;
    }
  }
  EXPECT_NE(arguments->find("city"), nullptr);
  EXPECT_NE(arguments->find("days"), nullptr);
}

// The thought that the grammar leaves out.
std::string with_thought(const ReplyFormat& format, ReplyStart start, std::string text) {
  const std::string rest = "Hm." + format.reasoning.end;
  if (start == ReplyStart::kThought) return rest + text;
  const std::string begin = format.headers.exists()
                                ? format.headers.thought + format.headers.message
                                : format.reasoning.begin;
  if (!begin.empty() && text.starts_with(begin)) text.insert(begin.size(), rest);
  return text;
}

TEST(ToolGrammarGolden, WhatTheGrammarWritesTheParserReads) {
  if (!std::filesystem::is_directory(golden_templates())) GTEST_SKIP() << "no golden data";
  std::mt19937_64 random(7);
  const ToolSet set = tools();
  int n_formats = 0;
  int n_texts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_templates())) {
    if (entry.path().extension() != ".jinja") continue;
    SCOPED_TRACE(entry.path().stem().string());
    ProbeOptions probe;
    probe.render.now.tm_mday = 1;
    const auto source = Template::parse(read_file(entry.path()));
    ASSERT_TRUE(source.ok());
    const ReplyFormat format = derive_reply_format(*source, probe);
    if (!format.calls.exists()) continue;
    ++n_formats;
    for (const ReplyStart start : {ReplyStart::kAnswer, ReplyStart::kThought}) {
      if (start == ReplyStart::kThought && !format.reasoning.exists()) continue;
      const bool header = format.headers.exists() && start == ReplyStart::kAnswer;
      const ReplyStart from = header ? ReplyStart::kHeader : start;
      const std::string gbnf = gbnf_of(format, {ToolChoice::Kind::kRequired, {}}, from);
      const auto grammar = sampling::Grammar::compile(gbnf);
      ASSERT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << gbnf;
      for (int n = 0; n < 10; ++n) {
        const std::string text = random_text(**grammar, format, random);
        if (text.empty()) continue;
        ++n_texts;
        SCOPED_TRACE(text);
        const Reply reply = parse(format, set, from, with_thought(format, from, text));
        ASSERT_FALSE(reply.tool_calls.empty()) << gbnf;
        EXPECT_EQ(std::string(trimmed(reply.content)), "") << gbnf;
        for (const ToolCall& call : reply.tool_calls) check_arguments(call);
      }
    }
  }
  EXPECT_EQ(n_formats, 44);  // with two that a table has
  EXPECT_GT(n_texts, 500);
}

ReplyFormat hermes() {
  ReplyFormat format;
  format.reasoning = {"<think>", "</think>", "\n</think>\n\n", {}, {}};
  format.calls.shape = CallShape::kObject;
  format.calls.parallel = true;
  format.calls.call_begin = "\n<tool_call>\n";
  format.calls.call_end = "\n</tool_call>";
  format.calls.name_key = "name";
  format.calls.arguments_key = "arguments";
  return format;
}

bool accepts(const std::string& gbnf, std::string_view text) {
  const auto grammar = sampling::Grammar::compile(gbnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << gbnf;
  return grammar.ok() && *sampling::grammar_accepts(**grammar, text);
}

const std::string kWeather =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 3}}\n"
    "</tool_call>";
const std::string kNow = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

TEST(ToolGrammar, RequiredNamedAndParallel) {
  const ToolSet set = tools();
  ToolGrammarOptions options;
  options.choice.kind = ToolChoice::Kind::kRequired;
  const auto text = [&] { return whole(*make_tool_grammar(hermes(), set, options)); };
  std::string gbnf = text();
  EXPECT_TRUE(accepts(gbnf, kWeather));
  // Thoughts are not the grammar's, up to the mark that ends them.
  EXPECT_TRUE(accepts(gbnf, "<think>\n\n" + kWeather));
  EXPECT_TRUE(accepts(gbnf, kWeather + "\n" + kNow));
  EXPECT_FALSE(accepts(gbnf, "Hello"));
  EXPECT_FALSE(accepts(gbnf, ""));
  std::string wrong = kWeather;
  wrong.replace(wrong.find("3}"), 1, "10");
  EXPECT_FALSE(accepts(gbnf, wrong));
  options.parallel = false;
  EXPECT_FALSE(accepts(text(), kWeather + "\n" + kNow));
  options.choice = {ToolChoice::Kind::kNamed, "now"};
  gbnf = text();
  EXPECT_TRUE(accepts(gbnf, kNow));
  EXPECT_FALSE(accepts(gbnf, kWeather));
  options.start = ReplyStart::kThought;
  gbnf = text();
  EXPECT_TRUE(accepts(gbnf, "\n\n" + kNow));
  EXPECT_FALSE(accepts(gbnf, "so"));
}

TEST(ToolGrammar, AutoStartsAtTheMark) {
  const ToolSet set = tools();
  const auto grammar = make_tool_grammar(hermes(), set, {});
  ASSERT_TRUE(grammar.ok());
  EXPECT_EQ(grammar->triggers, std::vector<std::string>{"<tool_call>"});
  EXPECT_TRUE(accepts(whole(*grammar), kWeather + "\n" + kNow));
}

TEST(ToolGrammar, ControlTokensAreReferences) {
  const ToolSet set = tools();
  ToolGrammarOptions options;
  options.find_control = [](std::string_view text) -> std::optional<ControlMark> {
    const std::size_t at = text.find("<tool_call>");
    const std::size_t end = text.find("</tool_call>");
    if (at == std::string_view::npos && end == std::string_view::npos) return std::nullopt;
    if (at < end) return ControlMark{at, 11, 71, false};
    return ControlMark{end, 12, 72, true};
  };
  const auto grammar = make_tool_grammar(hermes(), set, options);
  ASSERT_TRUE(grammar.ok());
  EXPECT_NE(grammar->rules.find("call ::= <[71]> \"\\n\" call-body"), std::string::npos)
      << grammar->rules;
  // A token that ends the turn is the end of the text.
  EXPECT_NE(grammar->rules.find("call-body ::= call-text \"\\n\"\n"), std::string::npos)
      << grammar->rules;
}

TEST(ToolGrammar, TextsBetweenMarks) {
  const auto set = parse_tools(*parse_json(R"([{"type": "function", "function": {"name": "f",
    "parameters": {"type": "object", "properties": {
      "code": {"type": "string"}, "id": {"type": "string", "pattern": "^[a-z]{2,3}$"}}}}}])"));
  ReplyFormat format;
  format.calls.shape = CallShape::kParameters;
  format.calls.call_begin = "<function=";
  format.calls.name_end = ">";
  format.calls.parameter_begin = "\n<parameter=";
  format.calls.value_marks = {{">\n", true, true, ""}};
  format.calls.parameter_end = "\n</parameter>";
  format.calls.call_end = "\n</function>";
  ToolGrammarOptions options;
  options.choice.kind = ToolChoice::Kind::kRequired;
  const std::string gbnf = whole(*make_tool_grammar(format, *set, options));
  const auto call = [](const std::string& inside) {
    return "<function=f>" + inside + "\n</function>";
  };
  const auto code = [](const std::string& text) {
    return "\n<parameter=code>\n" + text + "\n</parameter>";
  };
  EXPECT_TRUE(accepts(gbnf, call("")));
  EXPECT_TRUE(accepts(gbnf, call(code("cout << \"x\" << '<';\n</p>\n"))));
  EXPECT_TRUE(accepts(gbnf, call("\n<parameter=id>\nab\n</parameter>")));
  EXPECT_FALSE(accepts(gbnf, call("\n<parameter=id>\na\n</parameter>")));
  EXPECT_FALSE(accepts(gbnf, call("\n<parameter=no>\na\n</parameter>")));
  EXPECT_FALSE(accepts(gbnf, call(code("a</parameter>b"))));
}

TEST(ToolGrammar, WhatCannotBeKeptToIsRefusedByPath) {
  const auto set = parse_tools(*parse_json(R"([{"type": "function", "function": {"name": "f",
    "parameters": {"type": "object", "properties": {}, "minProperties": 1}}}])"));
  ReplyFormat format;
  format.calls.shape = CallShape::kParameters;
  format.calls.call_begin = "<f=";
  const auto grammar = make_tool_grammar(format, *set, {});
  EXPECT_EQ(grammar.status().message().substr(0, 44),
            "tools[0].function.parameters.minProperties: ");
  EXPECT_FALSE(make_tool_grammar(ReplyFormat{}, tools(), {}).ok());
}

TEST(ToolPrompt, PlainJsonWithoutMarks) {
  EXPECT_TRUE(check_tool_prompt({ToolChoice::Kind::kAuto, {}}).ok());
  for (const auto kind : {ToolChoice::Kind::kRequired, ToolChoice::Kind::kNamed}) {
    EXPECT_EQ(check_tool_prompt({kind, "now"}).message(),
              "tool_choice: template has no tool support");
  }
  const ToolSet set = tools();
  const std::string prompt = tool_prompt(set);
  EXPECT_NE(prompt.find("get_weather"), std::string::npos);
  EXPECT_EQ(prompt.find_first_of("<|"), std::string::npos);
  const ReplyFormat format = tool_prompt_format({});
  const auto grammar = make_tool_grammar(format, set, {});
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(grammar->triggers.empty());
  const std::string gbnf = whole(*grammar);
  const std::string call = R"({"name": "get_weather", "arguments": {"city": "Rome", "days": 2}})";
  EXPECT_TRUE(accepts(gbnf, call));
  EXPECT_TRUE(accepts(gbnf, "It is {warm}."));
  EXPECT_TRUE(accepts(gbnf, ""));
  EXPECT_FALSE(accepts(gbnf, R"({"name": "get_weather", "arguments": {"city": "Rome"}})"));
  const Reply reply = parse(format, set, ReplyStart::kAnswer, call);
  ASSERT_EQ(reply.tool_calls.size(), 1U);
  EXPECT_EQ(reply.content, "");
  EXPECT_EQ(parse(format, set, ReplyStart::kAnswer, "It is {warm}.").content, "It is {warm}.");
  EXPECT_EQ(parse(format, set, ReplyStart::kAnswer, " {\"a\": 1}").content, " {\"a\": 1}");
}

}  // namespace
}  // namespace minfer::chat
