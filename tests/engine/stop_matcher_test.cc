#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace minfer::engine {
namespace {

/// Feeds `text` in pieces of every length and expects one and the same result.
std::string shown(const std::string& text, std::vector<std::string> stops) {
  std::string expected;
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    StopMatcher matcher(stops);
    std::string out;
    bool stopped = false;
    for (std::size_t at = 0; at < text.size() && !stopped; at += piece) {
      stopped = matcher.feed(std::string_view(text).substr(at, piece), out);
    }
    if (!stopped) matcher.flush(out);
    if (piece == 1) {
      expected = out;
    } else {
      EXPECT_EQ(out, expected) << "pieces of " << piece;
    }
  }
  return expected;
}

TEST(StopMatcher, cuts_before_the_first_match) {
  const std::string text = "alpha beta gamma delta";
  EXPECT_EQ(shown(text, {"beta gamma"}), "alpha ");
  EXPECT_EQ(shown(text, {"gamma del", "beta"}), "alpha ");
  EXPECT_EQ(shown(text, {"delta!"}), text);
  EXPECT_EQ(shown(text, {"a"}), "");
  EXPECT_EQ(shown(text, {"ta g"}), "alpha be");
  EXPECT_EQ(shown(text, {""}), text);
  EXPECT_EQ(shown("ABC DEFGHIJ", {"DEFGHIJ"}), "ABC ");
  EXPECT_EQ(shown("x🦙y", {"🦙"}), "x");
  EXPECT_EQ(shown("aaab", {"aab"}), "a");
  EXPECT_EQ(shown("abababac", {"ababac"}), "ab");
}

TEST(StopMatcher, holds_back_only_true_beginnings) {
  StopMatcher matcher(std::vector<std::string>{"stop"});
  std::string out;
  EXPECT_FALSE(matcher.feed("a st", out));
  EXPECT_EQ(out, "a ");
  EXPECT_FALSE(matcher.feed("x", out));
  EXPECT_EQ(out, "a stx");
}

std::string gated(std::string_view bytes) {
  Utf8Gate gate;
  std::string out;
  for (char byte : bytes) gate.feed({&byte, 1}, out);
  gate.flush(out);
  Utf8Gate whole;
  std::string at_once;
  whole.feed(bytes, at_once);
  whole.flush(at_once);
  EXPECT_EQ(out, at_once);
  return out;
}

TEST(Utf8Gate, only_whole_characters_pass) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(gated("🦙歪é👨‍👩‍👧"), "🦙歪é👨‍👩‍👧");
  EXPECT_EQ(gated("a\xF0\x9F\xA6"), "a" + replacement);
  EXPECT_EQ(gated("\xC3(x"), replacement + "(x");
  EXPECT_EQ(gated("\xE2\x82\xE2\x82\xAC"), replacement + "€");
  EXPECT_EQ(gated("\xED\xA0\x80"), replacement + replacement + replacement);  // a surrogate
  EXPECT_EQ(gated("\xC0\x80"), replacement + replacement);                    // overlong
  EXPECT_EQ(gated("\xFF"), replacement);
  Utf8Gate gate;
  std::string out;
  gate.feed("\xF0\x9F", out);
  EXPECT_EQ(out, "");
  gate.feed("\xA6\x99", out);
  EXPECT_EQ(out, "🦙");
}

}  // namespace
}  // namespace minfer::engine
