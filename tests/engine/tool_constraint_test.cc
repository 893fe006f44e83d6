// Calls drawn at random under the constraint of their format, over a small vocabulary: always calls
// of the tools with arguments that fit, read back by the parser.
#include "engine/tool_constraint.h"

#include <gtest/gtest.h>

#include <random>

#include "chat/reply_derive.h"
#include "chat/reply_parser.h"
#include "chat/reply_value.h"
#include "engine/grammar_vocab.h"
#include "tests/text/tiny_vocab.h"

namespace minfer::engine {
namespace {

using chat::ReplyStart;
using chat::ToolChoice;

chat::ToolSet tools() {
  return *chat::parse_tools(*parse_json(R"([
   {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "exact": {"type": "boolean"},
                   "unit": {"enum": ["C", "F"]}},
    "required": ["a"], "additionalProperties": false}}}])"));
}

class ToolConstraintTest : public testing::Test {
 protected:
  ToolConstraintTest() : pieces_(text::TinyVocab::byte_level()) {
    for (const char* mark : {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
                             "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
                             "<|tool_call>", "<tool_call|>", "[TOOL_CALLS]", "[ARGS]", "<|\"|>"})
      pieces_.add(mark, text::TokenType::kControl);
    pieces_.add("<tool_call>", text::TokenType::kUserDefined);
    end_ = pieces_.add("<|im_end|>", text::TokenType::kControl);
    pieces_.spec.eos = end_;
    tokenizer_ = pieces_.build();
    vocab_ = make_grammar_vocab(*tokenizer_, tokenizer_->vocab().size());
  }

  static chat::ReplyFormat family(std::string_view name) {
    for (const chat::CallFamily& row : chat::call_families()) {
      if (row.format.family == name) {
        chat::ReplyFormat format;
        format.calls = row.format;
        return format;
      }
    }
    ADD_FAILURE() << name;
    return {};
  }

  std::unique_ptr<sampling::Constraint> constraint(const chat::ReplyFormat& format,
                                                   ToolChoice::Kind kind) {
    chat::ToolGrammarOptions options;
    options.choice.kind = kind;
    options.parallel = false;
    const auto program = compile_tool_program(format, tools_, options, *tokenizer_);
    EXPECT_TRUE(program.ok()) << program.status().message();
    auto made = make_tool_constraint(*program, vocab_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? std::move(*made) : nullptr;
  }

  // What is drawn from `rule` on until the turn ends; `begin` is written first.
  chat::Reply drawn(const chat::ReplyFormat& format, sampling::Constraint& rule,
                    std::string_view begin) {
    chat::ReplyOptions options;
    options.tools = &tools_;
    chat::ReplyParser parser(format, options);
    const auto take = [&](std::int32_t id) {
      EXPECT_TRUE(rule.accept(id).ok());
      (void)parser.feed(tokenizer_->token_bytes(id), tokenizer_->is_hidden(id));
    };
    for (const std::int32_t id : text::encode(*tokenizer_, begin, {.parse_special = true}))
      take(id);
    for (int n = 0; n < 500; ++n) {
      const auto mask = rule.allowed();
      EXPECT_TRUE(mask.ok());
      std::vector<std::int32_t> may;
      for (std::int32_t id = 0; id < tokenizer_->vocab().size(); ++id) {
        const auto at = static_cast<std::size_t>(id);
        if (((*mask)[at / 64] >> (at % 64) & 1) != 0) may.push_back(id);
      }
      if (may.empty()) {
        ADD_FAILURE() << "nothing may come";
        break;
      }
      const std::int32_t id = may[random_() % may.size()];
      if (id == end_) break;
      take(id);
    }
    (void)parser.finish();
    return parser.reply();
  }

  void check(const chat::Reply& reply) {
    ASSERT_EQ(reply.tool_calls.size(), 1U) << reply.content;
    EXPECT_EQ(reply.tool_calls[0].name, "add");
    const auto arguments = parse_json(reply.tool_calls[0].arguments);
    ASSERT_TRUE(arguments.ok()) << reply.tool_calls[0].arguments;
    const JsonValue* a = arguments->find("a");
    ASSERT_NE(a, nullptr);
    const auto* number = std::get_if<std::int64_t>(&a->data);
    ASSERT_NE(number, nullptr) << reply.tool_calls[0].arguments;
    EXPECT_LE(*number, 99);
    if (const JsonValue* exact = arguments->find("exact")) {
      EXPECT_TRUE(std::holds_alternative<bool>(exact->data));
    }
    if (const JsonValue* unit = arguments->find("unit")) {
      EXPECT_TRUE(*unit->string() == "C" || *unit->string() == "F");
    }
  }

  text::TinyVocab pieces_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::shared_ptr<const sampling::GrammarVocab> vocab_;
  std::int32_t end_ = -1;
  chat::ToolSet tools_ = tools();
  std::mt19937_64 random_{11};
};

TEST_F(ToolConstraintTest, RequiredCallsOfEveryFamily) {
  for (const chat::CallFamily& row : chat::call_families()) {
    SCOPED_TRACE(row.format.family);
    const chat::ReplyFormat format = family(row.format.family);
    for (int n = 0; n < 5; ++n) {
      const auto rule = constraint(format, ToolChoice::Kind::kRequired);
      ASSERT_NE(rule, nullptr);
      const chat::Reply reply = drawn(format, *rule, "");
      check(reply);
      EXPECT_EQ(reply.content, "");
    }
  }
}

TEST_F(ToolConstraintTest, AutoHoldsFromTheMarkOn) {
  for (const char* name : {"Hermes", "DeepSeek 3.1", "Gemma", "Mistral with names"}) {
    SCOPED_TRACE(name);
    const chat::ReplyFormat format = family(name);
    const auto rule = constraint(format, ToolChoice::Kind::kAuto);
    ASSERT_NE(rule, nullptr);
    const std::string mark =
        format.calls.section_begin.empty() ? format.calls.call_begin : format.calls.section_begin;
    // Only the first token of the mark: everything behind it is the grammar's.
    const std::string begin = "Let me see. " + mark.substr(0, mark.find_first_of(">]") + 1);
    const chat::Reply reply = drawn(format, *rule, begin);
    check(reply);
    EXPECT_EQ(reply.content, "Let me see.");
  }
}

TEST_F(ToolConstraintTest, SchemasAreRefusedByPath) {
  const auto set = chat::parse_tools(*parse_json(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
           "properties": {"a": {"type": "nonsense"}}}}}])"));
  const auto program = compile_tool_program(family("Hermes"), *set, {}, *tokenizer_);
  ASSERT_FALSE(program.ok());
  EXPECT_TRUE(program.status().message().starts_with("tools[0].function.parameters: "))
      << program.status().message();
}

}  // namespace
}  // namespace minfer::engine
