#include <gtest/gtest.h>

#include <random>

#include "sampling/grammar/lazy_constraint.h"

namespace minfer::sampling {
namespace {

std::shared_ptr<const Grammar> compiled(std::string_view gbnf) {
  auto grammar = Grammar::compile(gbnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return grammar.ok() ? *grammar : nullptr;
}

class LazyRig {
 public:
  LazyRig(std::string_view gbnf, std::vector<std::string> triggers,
          const std::vector<std::string>& texts)
      : grammar_(compiled(gbnf)), triggers_(std::move(triggers)) {
    std::vector<GrammarToken> tokens;
    for (const std::string& text : texts) tokens.push_back({text, TokenKind::kText});
    tokens.push_back({"<end>", TokenKind::kEndOfGeneration});
    tokens.push_back({"<call>", TokenKind::kHidden});
    vocab_ = std::make_shared<GrammarVocab>(tokens);
    auto made = LazyConstraint::create(triggers_, grammar_, vocab_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    constraint_ = std::move(*made);
  }

  LazyConstraint& constraint() { return *constraint_; }
  [[nodiscard]] TokenId end() const { return vocab_->size() - 2; }
  [[nodiscard]] TokenId call() const { return vocab_->size() - 1; }
  [[nodiscard]] std::string_view bytes(TokenId id) const { return vocab_->bytes(id); }

  std::vector<TokenId> allowed() {
    const auto mask = constraint_->allowed();
    EXPECT_TRUE(mask.ok());
    const std::vector<std::uint64_t> bits(mask->begin(), mask->end());
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < vocab_->size(); ++id) {
      EXPECT_EQ(*constraint_->allows(id), has_bit(bits, id)) << bytes(id);
      if (has_bit(bits, id)) ids.push_back(id);
    }
    return ids;
  }

  /// The rule over the whole text: up to the first trigger anything, from there the grammar.
  bool may_be(std::string_view text) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
      std::size_t start = text.npos;
      for (const std::string& trigger : triggers_) {
        if (text.substr(0, end).ends_with(trigger)) start = std::min(start, end - trigger.size());
      }
      if (start == text.npos) continue;
      auto state = GrammarState::create(grammar_);
      return *state->accept(text.substr(start));
    }
    return true;
  }

 private:
  std::shared_ptr<const Grammar> grammar_;
  std::vector<std::string> triggers_;
  std::shared_ptr<const GrammarVocab> vocab_;
  std::unique_ptr<LazyConstraint> constraint_;
};

TEST(LazyConstraint, free_until_the_trigger_then_the_grammar) {
  LazyRig rig(R"(root ::= "<tool>" [0-9]+ "</tool>")", {"<tool>"},
              {"x", "<", "<to", "ol>", "ol>1", "ol>x", "7", "</tool>", "a<tool>9", "a<tool>b"});
  EXPECT_EQ(rig.allowed(), (std::vector<TokenId>{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11}));
  EXPECT_TRUE(rig.constraint().is_complete());
  ASSERT_TRUE(rig.constraint().accept(0).ok());
  ASSERT_TRUE(rig.constraint().accept(2).ok());
  // "ol>x" would write the trigger and go on against the grammar.
  EXPECT_EQ(rig.allowed(), (std::vector<TokenId>{0, 1, 2, 3, 4, 6, 7, 8, 10, 11}));
  EXPECT_FALSE(rig.constraint().triggered());
  ASSERT_TRUE(rig.constraint().accept(4).ok());
  EXPECT_TRUE(rig.constraint().triggered());
  EXPECT_FALSE(rig.constraint().is_complete());
  EXPECT_EQ(rig.allowed(), (std::vector<TokenId>{1, 6, 7}));
  ASSERT_TRUE(rig.constraint().accept(7).ok());
  EXPECT_EQ(rig.allowed(), std::vector<TokenId>{rig.end()});
  rig.constraint().reset();
  EXPECT_TRUE(rig.constraint().is_complete());
  EXPECT_TRUE(*rig.constraint().allows(0));
  ASSERT_TRUE(rig.constraint().accept(8).ok());
  EXPECT_EQ(rig.allowed(), (std::vector<TokenId>{1, 6, 7}));
}

TEST(LazyConstraint, a_hidden_token_is_a_trigger_by_its_name) {
  for (const char* gbnf : {"root ::= <call> \"1\"", "root ::= \"<call>\" \"1\""}) {
    LazyRig rig(gbnf, {"<call>"}, {"x", "1"});
    ASSERT_TRUE(rig.constraint().accept(0).ok());
    ASSERT_TRUE(rig.constraint().accept(rig.call()).ok());
    EXPECT_EQ(rig.allowed(), std::vector<TokenId>{1});
  }
}

TEST(LazyConstraint, agrees_with_the_rule_over_the_whole_text) {
  std::mt19937 random(5);
  int n_triggered = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (auto n = 1 + random() % 5; n > 0; --n) text += "ab<"[random() % 3];
      texts.push_back(text);
    }
    LazyRig rig(R"(root ::= ("ab<" | "<<a") ("a" | "b<")* "<")", {"ab<", "<<a"}, texts);
    std::string text;
    for (int step = 0; step < 8; ++step) {
      std::vector<TokenId> legal = rig.allowed();
      std::erase_if(legal, [&](TokenId id) { return id >= rig.end(); });
      std::vector<TokenId> expected;
      for (TokenId id = 0; id < rig.end(); ++id) {
        if (rig.may_be(text + std::string(rig.bytes(id)))) expected.push_back(id);
      }
      ASSERT_EQ(legal, expected) << text;
      if (legal.empty()) break;
      const TokenId token = legal[random() % legal.size()];
      text += rig.bytes(token);
      ASSERT_TRUE(rig.constraint().accept(token).ok());
    }
    n_triggered += rig.constraint().triggered() ? 1 : 0;
  }
  EXPECT_GT(n_triggered, 100);
}

TEST(LazyConstraint, refusals) {
  const auto vocab = std::make_shared<GrammarVocab>(std::span<const GrammarToken>());
  for (const std::vector<std::string>& triggers : {std::vector<std::string>{}, {"a", ""}}) {
    EXPECT_EQ(LazyConstraint::create(triggers, compiled("root ::= \"a\""), vocab).status().code(),
              StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace minfer::sampling
