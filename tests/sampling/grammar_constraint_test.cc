#include "sampling/grammar/grammar_constraint.h"

#include <gtest/gtest.h>

#include <ctime>

#include "grammar_oracle.h"

namespace minfer::sampling {
namespace {

std::shared_ptr<const Grammar> compiled(const std::string& gbnf) {
  auto grammar = Grammar::compile(gbnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return grammar.ok() ? *grammar : nullptr;
}

/// Text tokens, and behind them an end of generation and the hidden `<|call|>`.
std::shared_ptr<const GrammarVocab> make_vocab(const std::vector<std::string>& texts) {
  std::vector<GrammarToken> tokens;
  for (const std::string& text : texts) tokens.push_back({text, TokenKind::kText});
  tokens.push_back({"<|end|>", TokenKind::kEndOfGeneration});
  tokens.push_back({"<|call|>", TokenKind::kHidden});
  return std::make_shared<GrammarVocab>(tokens);
}

std::unique_ptr<GrammarConstraint> constraint(const std::string& gbnf,
                                              std::shared_ptr<const GrammarVocab> vocab) {
  auto made = GrammarConstraint::create(compiled(gbnf), std::move(vocab));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(*made) : nullptr;
}

std::vector<TokenId> allowed_ids(GrammarConstraint& constraint) {
  const auto mask = constraint.allowed();
  EXPECT_TRUE(mask.ok()) << mask.status().message();
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < constraint.vocab().size(); ++id) {
    const auto one = constraint.allows(id);
    EXPECT_TRUE(one.ok());
    EXPECT_EQ(*one, has_bit(*mask, id)) << "token " << id;
    if (*one) ids.push_back(id);
  }
  return ids;
}

/// Texts of the alphabet cut at any byte, short ones and runs.
std::vector<std::string> random_pieces(std::mt19937& random) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 60; ++i) {
    const std::string text = to_utf8(random_text(random, 4)) + "é";
    const std::size_t from = random() % text.size();
    pieces.push_back(text.substr(from, 1 + random() % (text.size() - from)));
  }
  for (int n = 1; n < 9; ++n) {
    pieces.emplace_back(static_cast<std::size_t>(n), 'a');
    pieces.push_back(std::string(static_cast<std::size_t>(n), 'b') + "a");
  }
  return pieces;
}

/// Random walks through a grammar: at every step the mask is what each token's bytes say, read
/// behind the whole text so far by a matcher without cache and trie.
void walk(const std::string& gbnf, std::mt19937& random, int n_steps, int& n_allowed,
          std::size_t crowded = 1 << 16) {
  const auto grammar = compiled(gbnf);
  const auto vocab = make_vocab(random_pieces(random));
  auto made = GrammarConstraint::create(grammar, vocab);
  ASSERT_TRUE(made.ok());
  GrammarConstraint& under_test = **made;
  under_test.set_crowded_states(crowded);
  std::string text;
  for (int step = 0; step < n_steps; ++step) {
    const std::vector<TokenId> ids = allowed_ids(under_test);
    std::vector<TokenId> expected;
    for (TokenId id = 0; id < vocab->size(); ++id) {
      auto state = GrammarState::create(grammar);
      ASSERT_TRUE(*state->accept(text));
      const bool allowed =
          vocab->kind(id) == TokenKind::kText
              ? *state->accept(vocab->bytes(id))
              : vocab->kind(id) == TokenKind::kEndOfGeneration && state->is_complete();
      if (allowed) expected.push_back(id);
    }
    ASSERT_EQ(ids, expected) << gbnf << "behind \"" << text << "\"";
    std::erase_if(expected, [&](TokenId id) { return vocab->kind(id) != TokenKind::kText; });
    if (expected.empty()) break;
    n_allowed += static_cast<int>(expected.size());
    const TokenId token = expected[random() % expected.size()];
    text += vocab->bytes(token);
    ASSERT_TRUE(under_test.accept(token).ok());
  }
  under_test.reset();
  EXPECT_TRUE(*under_test.allows_text(""));
}

TEST(GrammarConstraint, mask_is_what_each_token_reads) {
  std::mt19937 random(7);
  int n_allowed = 0;
  for (int i = 0; i < 250; ++i) {
    const TreeGrammar tree(random);
    if (!Grammar::compile(tree.gbnf()).ok()) continue;
    walk(tree.gbnf(), random, 5, n_allowed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(n_allowed, 5000);
}

TEST(GrammarConstraint, a_machine_that_forgets_says_the_same) {
  std::mt19937 random(9);
  int n_allowed = 0;
  for (int i = 0; i < 60; ++i) {
    const TreeGrammar tree(random);
    if (!Grammar::compile(tree.gbnf()).ok()) continue;
    walk(tree.gbnf(), random, 5, n_allowed, 3 + random() % 8);
    if (HasFatalFailure()) return;
  }
  walk(R"(root ::= ([ab]{0,12} "é"?){0,3})", random, 14, n_allowed, 5);
  EXPECT_GT(n_allowed, 1000);
}

TEST(GrammarConstraint, mask_of_counters_is_exact_at_their_limits) {
  std::mt19937 random(8);
  int n_allowed = 0;
  for (const char* gbnf :
       {R"(root ::= [ab]{0,30})", R"(root ::= "b"{14,20} "a" [ab]*)",
        R"(root ::= [a-z]{6} "a"* "é")", R"(root ::= [a-z]{6} "é" | "b" "b"{7,9} "a" "é")",
        R"(root ::= ([a-z]{0,7} "é"){3})", R"(root ::= ("b" | "é"){25,} "a")",
        R"(root ::= "b"? ("a"{2,5} | [^a]){10,14} "b")", R"(root ::= ([a-z]{25,40} "é"){0,3})",
        R"(root ::= (. "a"?){20,})", R"(root ::= ([ab]{0,12} "é"?){0,3})", R"(root ::= r{0,20}
           r ::= [ab] | "é" r{1,6} "🦙")"}) {
    for (int i = 0; i < 6; ++i) walk(gbnf, random, 14, n_allowed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(n_allowed, 5000);
}

TEST(GrammarConstraint, counters_share_masks_and_the_cache_is_bounded) {
  const auto vocab = make_vocab({"a", "b", "aa", "ab", "abab", "\""});
  const auto counted = constraint(R"(root ::= "\"" [ab]{0,200} "\"")", vocab);
  ASSERT_TRUE(counted->accept(5).ok());
  for (int i = 0; i < 190; ++i) {
    allowed_ids(*counted);
    ASSERT_TRUE(counted->accept(0).ok());
  }
  EXPECT_LE(counted->n_masks_made(), 2U);
  for (int i = 190; i < 200; ++i) {
    allowed_ids(*counted);
    ASSERT_TRUE(counted->accept(0).ok());
  }
  EXPECT_EQ(allowed_ids(*counted), std::vector<TokenId>{5});
  EXPECT_LE(counted->n_masks_made(), 8U);

  // Every nesting has masks of its own.
  const auto nested = constraint(R"(root ::= "a" root "b" | "b" root "a" | "\"")", vocab);
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const auto ids = allowed_ids(*nested);
    ASSERT_TRUE(nested->accept(ids[random() % 2]).ok());
  }
  EXPECT_LE(nested->n_masks(), GrammarConstraint::kMaxMasks);
}

TEST(GrammarConstraint, end_comes_where_the_text_is_whole) {
  const auto vocab = make_vocab({"{", "}", "x", "\xC3", "\xA9"});
  const TokenId end = 5;
  const auto braces = constraint(R"(root ::= "{" [^}]* "}")", vocab);
  EXPECT_EQ(allowed_ids(*braces), std::vector<TokenId>{0});
  for (const TokenId id : {0, 2, 3, 4}) ASSERT_TRUE(braces->accept(id).ok());
  EXPECT_EQ(allowed_ids(*braces), (std::vector<TokenId>{0, 1, 2, 3}));
  EXPECT_FALSE(braces->is_complete());
  ASSERT_TRUE(braces->accept(1).ok());
  EXPECT_TRUE(braces->is_complete());
  EXPECT_EQ(allowed_ids(*braces), std::vector<TokenId>{end});
  ASSERT_TRUE(braces->accept(end).ok());
  EXPECT_FALSE(braces->accept(0).ok());
  // é over two tokens of a byte each.
  const auto bytes = constraint(R"(root ::= "é"?)", vocab);
  EXPECT_EQ(allowed_ids(*bytes), (std::vector<TokenId>{3, end}));
  ASSERT_TRUE(bytes->accept(3).ok());
  EXPECT_EQ(allowed_ids(*bytes), std::vector<TokenId>{4});
  EXPECT_FALSE(bytes->is_complete());
  ASSERT_TRUE(bytes->accept(4).ok());
  EXPECT_EQ(allowed_ids(*bytes), std::vector<TokenId>{end});
}

TEST(GrammarConstraint, dead_end_allows_nothing) {
  const auto stuck = constraint(R"(root ::= "{" "y")", make_vocab({"{", "x"}));
  ASSERT_TRUE(stuck->accept(0).ok());
  EXPECT_TRUE(allowed_ids(*stuck).empty());
}

TEST(GrammarConstraint, tokens_by_name_and_number) {
  const auto vocab = make_vocab({"a", "b", "<b>", "\xC3"});
  const TokenId end = 4;
  const TokenId call = 5;
  const auto named = constraint("root ::= <|call|> \"a\" | <[1]> <b> | <|end|>", vocab);
  EXPECT_EQ(allowed_ids(*named), (std::vector<TokenId>{1, end, call}));
  ASSERT_TRUE(named->accept(call).ok());
  EXPECT_EQ(allowed_ids(*named), std::vector<TokenId>{0});
  named->reset();
  ASSERT_TRUE(named->accept(1).ok());
  EXPECT_EQ(allowed_ids(*named), std::vector<TokenId>{2});
  // By text and by name at once.
  const auto both = constraint("root ::= \"a\" \"b\" | <[0]> <|call|>", vocab);
  ASSERT_TRUE(both->accept(0).ok());
  EXPECT_EQ(allowed_ids(*both), (std::vector<TokenId>{1, call}));
  const auto others = constraint("root ::= !<[1]>* <[1]>", vocab);
  EXPECT_EQ(allowed_ids(*others), (std::vector<TokenId>{0, 1, 2, 3}));
  ASSERT_TRUE(others->accept(3).ok());
  EXPECT_EQ(allowed_ids(*others), (std::vector<TokenId>{0, 1, 2, 3}));
  ASSERT_TRUE(others->accept(1).ok());
  EXPECT_EQ(allowed_ids(*others), std::vector<TokenId>{end});
  for (const auto& [gbnf, what] :
       {std::pair("root ::= \"a\"\n  <nothing>",
                  "line 2, column 3, rule \"root\": the model has no token <nothing>"),
        std::pair("root ::= <[6]>", "no token [6], only 0 to 5")}) {
    const auto made = GrammarConstraint::create(compiled(gbnf), vocab);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.status().message().find(what), std::string::npos) << made.status().message();
  }
}

TEST(GrammarVocab, large_vocabularies_are_quick_to_build_and_mask) {
  // As many tokens as the largest vocabularies have, of their lengths.
  std::mt19937 random(11);
  std::vector<std::string> texts;
  for (int i = 0; i < 262'000; ++i) {
    std::string text = random() % 2 == 0 ? " " : "";
    for (auto n = 1 + random() % 9; n > 0; --n) {
      text += static_cast<char>(random() % 12 == 0 ? '!' + random() % 90 : 'a' + random() % 26);
    }
    texts.push_back(text);
  }
  const auto seconds_since = [](std::clock_t start) {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  std::clock_t start = std::clock();
  const auto vocab = make_vocab(texts);
  const double build = seconds_since(start);
  const auto string = constraint(R"(root ::= "\"" ([^"\\\x00-\x1F] | "\\" [nt"\\])* "\"")", vocab);
  ASSERT_TRUE(string->accept_text("\"").ok());
  start = std::clock();
  ASSERT_TRUE(string->allowed().ok());
  const double mask = seconds_since(start);
  ASSERT_TRUE(string->accept_text("a").ok());
  start = std::clock();
  ASSERT_TRUE(string->allowed().ok());
  const double again = seconds_since(start);
  EXPECT_LT(build, 0.5 * kTimeFactor);
  EXPECT_LT(mask, 0.05 * kTimeFactor);
  EXPECT_LT(again, 0.002 * kTimeFactor);
}

}  // namespace
}  // namespace minfer::sampling
