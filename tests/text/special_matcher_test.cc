#include "text/special_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/text/tiny_vocab.h"

namespace minfer::text {
namespace {

struct Found {
  std::uint32_t begin;
  std::int32_t id;
  friend bool operator==(const Found&, const Found&) = default;
};
void PrintTo(const Found& found, std::ostream* out) { *out << found.begin << ":" << found.id; }

std::vector<Found> find(const TinyVocab& vocab, std::string_view text,
                        std::vector<SpecialZone> zones) {
  auto built = Vocab::create(vocab.spec);
  EXPECT_TRUE(built.ok());
  std::vector<Found> found;
  for (const SpecialMatch& match : SpecialMatcher(**built).find(text, zones)) {
    EXPECT_EQ((*built)->piece(match.id), text.substr(match.begin, match.end - match.begin));
    found.push_back({match.begin, match.id});
  }
  return found;
}

std::vector<Found> find(const TinyVocab& vocab, std::string_view text, bool parse_special) {
  return find(vocab, text, {{static_cast<std::uint32_t>(text.size()), parse_special}});
}

TEST(SpecialMatcher, control_tokens_match_only_where_they_may_be_spelt) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t end = vocab.add("<|end|>", TokenType::kControl);
  const std::int32_t tag = vocab.add("<tag>", TokenType::kUserDefined);
  EXPECT_EQ(find(vocab, "a<|end|><tag>", true), (std::vector<Found>{{1, end}, {8, tag}}));
  EXPECT_EQ(find(vocab, "a<|end|><tag>", false), (std::vector<Found>{{8, tag}}));
}

TEST(SpecialMatcher, withheld_tokens_match_only_where_control_tokens_may) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t tag = vocab.add("<tag>", TokenType::kUserDefined);
  const std::int32_t ta = vocab.add("<ta", TokenType::kUserDefined);
  auto built = Vocab::create(vocab.spec);
  ASSERT_TRUE(built.ok());
  const SpecialMatcher matcher(**built);
  const std::vector<std::int32_t> withheld = {tag};
  const auto ids = [&](std::vector<SpecialZone> zones) {
    std::vector<std::int32_t> found;
    for (const SpecialMatch& match : matcher.find("<tag><tag>", zones, withheld))
      found.push_back(match.id);
    return found;
  };
  EXPECT_EQ(ids({{10, true}}), (std::vector<std::int32_t>{tag, tag}));
  EXPECT_EQ(ids({{5, true}, {10, false}}), (std::vector<std::int32_t>{tag, ta}));
  EXPECT_EQ(ids({{3, true}, {10, false}}), (std::vector<std::int32_t>{ta, ta}));
  EXPECT_EQ(ids({{10, false}}), (std::vector<std::int32_t>{ta, ta}));
}

TEST(SpecialMatcher, no_control_token_reaches_out_of_its_zone) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t end = vocab.add("<|end|>", TokenType::kControl);
  const std::int32_t tag = vocab.add("<tag>", TokenType::kUserDefined);
  const std::string_view text = "<|end|><|end|>";
  EXPECT_EQ(find(vocab, text, {{7, true}, {14, false}}), (std::vector<Found>{{0, end}}));
  EXPECT_EQ(find(vocab, text, {{7, false}, {14, true}}), (std::vector<Found>{{7, end}}));
  EXPECT_EQ(find(vocab, text, {{3, true}, {14, false}}), std::vector<Found>{});
  EXPECT_EQ(find(vocab, text, {{3, false}, {14, true}}), (std::vector<Found>{{7, end}}));
  // Two zones of one kind are one; an empty zone is none.
  EXPECT_EQ(find(vocab, text, {{0, false}, {3, true}, {3, true}, {14, true}}),
            (std::vector<Found>{{0, end}, {7, end}}));
  EXPECT_EQ(find(vocab, "<tag>", {{2, true}, {5, false}}), (std::vector<Found>{{0, tag}}));
}

TEST(SpecialMatcher, the_longest_wins_then_the_leftmost) {
  TinyVocab vocab = TinyVocab::byte_level();
  const auto user = [&](std::string_view piece) {
    return vocab.add(piece, TokenType::kUserDefined);
  };
  const std::int32_t one = user("\n");
  const std::int32_t three = user("\n\n\n");
  const std::int32_t ab = user("ab");
  const std::int32_t bcd = user("bcd");
  const std::int32_t abab = user("abab");
  EXPECT_EQ(find(vocab, "\n\n\n\n", false), (std::vector<Found>{{0, three}, {3, one}}));
  // "ab" stands further left, but "bcd" is longer; what is left of it is text.
  EXPECT_EQ(find(vocab, "abcd", false), (std::vector<Found>{{1, bcd}}));
  // The candidate at 2 is "abab", which loses to the one at 0; "ab" still fits behind.
  EXPECT_EQ(find(vocab, "ababab", false), (std::vector<Found>{{0, abab}, {4, ab}}));
}

// What the header promises, by trying every token at every place, longest first.
TEST(SpecialMatcher, agrees_with_exhaustive_search) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    TinyVocab vocab("llama");
    vocab.spec.scores.emplace();
    vocab.add("x");
    std::vector<std::string> pieces;
    for (int i = 0; i < 8; ++i) {
      std::string piece;
      for (std::size_t n = 1 + random() % 4; n > 0; --n)
        piece.push_back(static_cast<char>('a' + random() % 2));
      if (std::find(pieces.begin(), pieces.end(), piece) != pieces.end()) continue;
      pieces.push_back(piece);
      vocab.add(piece, TokenType::kUserDefined);
    }
    std::string text;
    for (std::size_t n = random() % 40; n > 0; --n)
      text.push_back(static_cast<char>('a' + random() % 3));

    std::vector<Found> expected;
    std::vector<bool> taken(text.size(), false);
    for (std::size_t length = 4; length > 0; --length) {
      for (std::size_t pos = 0; pos + length <= text.size(); ++pos) {
        const auto piece = std::find(pieces.begin(), pieces.end(), text.substr(pos, length));
        if (piece == pieces.end()) continue;
        if (std::find(taken.begin() + static_cast<std::ptrdiff_t>(pos),
                      taken.begin() + static_cast<std::ptrdiff_t>(pos + length),
                      true) != taken.begin() + static_cast<std::ptrdiff_t>(pos + length))
          continue;
        std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(pos), length, true);
        expected.push_back({static_cast<std::uint32_t>(pos),
                            static_cast<std::int32_t>(piece - pieces.begin()) + 1});
      }
    }
    std::sort(expected.begin(), expected.end(),
              [](const Found& a, const Found& b) { return a.begin < b.begin; });
    ASSERT_EQ(find(vocab, text, false), expected) << text;
  }
}

}  // namespace
}  // namespace minfer::text
