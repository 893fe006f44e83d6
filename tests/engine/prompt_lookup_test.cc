// The index of prompt lookup: what it finds, and that it never looks outside the history.
#include "engine/prompt_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace minfer::engine {
namespace {

std::vector<TokenId> ids(const std::string& text) { return {text.begin(), text.end()}; }

/// What is guessed behind `text`, seen whole or token by token (the same, but for a place that is
/// being followed); "" where nothing is.
std::string guess(PromptLookup& lookup, const std::string& text, std::size_t n) {
  const auto history = ids(text);
  EXPECT_TRUE(lookup.observe(history).ok());
  if (!lookup.grade()) return "";
  std::vector<TokenId> out;
  EXPECT_TRUE(lookup.propose(history, n, out).ok());
  return {out.begin(), out.end()};
}

std::string guess(const std::string& text, std::size_t n) {
  PromptLookup lookup;
  return guess(lookup, text, n);
}

TEST(PromptLookup, needs_two_tokens_seen_before) {
  EXPECT_EQ(guess("", 3), "");
  EXPECT_EQ(guess("a", 3), "");
  EXPECT_EQ(guess("abcdefg", 3), "");
  EXPECT_EQ(guess("abcdea", 3), "");
  EXPECT_EQ(guess("abcdeab", 3), "cde");
}

TEST(PromptLookup, the_longest_suffix_wins) {
  // "wxyz" is followed by 1, the later "yz" by 2.
  EXPECT_EQ(guess("wxyz1 yz2 wxyz", 1), "1");
  // Among equals the latest.
  EXPECT_EQ(guess("yz1 yz2 yz", 1), "2");
}

TEST(PromptLookup, a_guess_goes_on_with_itself) {
  EXPECT_EQ(guess("abcabc", 8), "abcabcab");
  EXPECT_EQ(guess("aaa", 5), "aaaaa");
}

TEST(PromptLookup, follows_a_place_token_by_token) {
  const std::string source = "the quick brown fox jumps over the lazy dog. ";
  PromptLookup lookup;
  std::string text = source + "the q";
  for (std::size_t i = 5; i + 1 < source.size(); ++i) {
    EXPECT_EQ(guess(lookup, text, 1), source.substr(i, 1)) << text;
    text += source[i];
  }
  EXPECT_EQ(lookup.grade(), 4U);
}

TEST(PromptLookup, meets_the_source_again_behind_a_changed_name) {
  const std::string source = "x = alpha(1) + alpha[2] - 3;\n";
  PromptLookup lookup;
  std::string text = source + "x = ";
  EXPECT_EQ(guess(lookup, text, 5), "alpha");
  text += "QRS";  // another name, longer or shorter
  guess(lookup, text, 1);
  text += "(";
  EXPECT_EQ(guess(lookup, text, 6), "1) + a");
  EXPECT_EQ(lookup.grade(), 0U);
}

TEST(PromptLookup, guesses_a_changed_name_once_it_has_seen_it) {
  const std::string source = "x = alpha(1) + alpha[2] - 3 * alpha; y = alphabet";
  PromptLookup lookup;
  std::string text = source + "|";
  const auto type = [&](const std::string& more) {
    for (const char c : more) {
      text += c;
      guess(lookup, text, 1);
    }
  };
  type("x = QR(1)");
  EXPECT_EQ(guess(lookup, text, 41), " + QR[2] - 3 * QR; y = QRbet|x = QR(1) + ");
  type(" + QR[2] - 3 * Q");  // in the middle of it
  EXPECT_EQ(guess(lookup, text, 9), "R; y = QR");
  // A name that stays after all: the change was none.
  type("R; y = alphab");
  EXPECT_EQ(guess(lookup, text, 7), "et|x = ");
  type("et|x = ");
  EXPECT_EQ(guess(lookup, text, 3), "QR(");
}

TEST(PromptLookup, changes_of_every_length_stay_inside_the_history) {
  for (const std::string before : {"a", "alpha", "alphabetagamma"}) {
    for (const std::string after : {"", "Z", "omega", "alp", before.c_str()}) {
      const auto line = [](const std::string& name) {
        return "f " + name + "; g(" + name + ") h " + name + name + " k";
      };
      PromptLookup lookup;
      std::string text = line(before) + line(before);
      for (const char c : line(after) + line(after) + line(before)) {
        text += c;
        guess(lookup, text, 31);
      }
    }
  }
}

TEST(PromptLookup, grades_rise_with_the_match) {
  const std::string block = "0123456789abcdefghij";
  std::size_t before = 0;
  for (const auto& [length, grade] : {std::pair(2, 1U), {4, 2U}, {8, 3U}, {16, 4U}}) {
    PromptLookup lookup;
    guess(lookup, block + "??" + block.substr(0, static_cast<std::size_t>(length)), 1);
    EXPECT_EQ(lookup.grade(), grade);
    const double prior = lookup.priors()[grade];
    EXPECT_GT(prior, 0);
    EXPECT_GT(grade, before);
    before = grade;
  }
}

TEST(PromptLookup, a_shorter_history_starts_again) {
  PromptLookup lookup;
  EXPECT_EQ(guess(lookup, "abcdabc", 2), "da");
  EXPECT_EQ(guess(lookup, "abcd", 2), "");
  EXPECT_EQ(guess(lookup, "abcdxyxyx", 3), "yxy");
}

/// Against the plain search of the whole history: there is a guess wherever the last two tokens
/// stood before.
TEST(PromptLookup, agrees_with_a_search_of_everything) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 rng(seed);
    PromptLookup lookup;
    std::vector<TokenId> history;
    for (int i = 0; i < 60; ++i) {
      // Often a copy of an older stretch, sometimes something new.
      const std::size_t n = 1 + rng() % 9;
      const std::size_t from = history.empty() ? 0 : rng() % history.size();
      for (std::size_t k = 0; k < n; ++k) {
        const bool copy = seed % 2 == 0 && from + k < history.size();
        history.push_back(copy ? history[from + k] : static_cast<TokenId>(rng() % 6));
        ASSERT_TRUE(lookup.observe(history).ok());
        std::size_t longest = 0;
        for (std::size_t end = 1; end < history.size(); ++end) {
          std::size_t same = 0;
          while (same < end && history[end - 1 - same] == history[history.size() - 1 - same]) {
            ++same;
          }
          longest = std::max(longest, same);
        }
        const auto grade = lookup.grade();
        if (longest >= 2) {
          ASSERT_TRUE(grade.has_value());
        }
        if (!grade) continue;
        std::vector<TokenId> out;
        ASSERT_TRUE(lookup.propose(history, 31, out).ok());
        ASSERT_GE(out.size(), 1U);
      }
    }
  }
}

}  // namespace
}  // namespace minfer::engine
