// A recogniser of small grammars by plain backtracking, and random grammars and texts to compare
// the matcher with.
#pragma once

#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::sampling {

// Sanitizers make everything slower, some of it twenty times.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINFER_TIME_FACTOR 20
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MINFER_TIME_FACTOR 20
#endif
#endif
#ifndef MINFER_TIME_FACTOR
#define MINFER_TIME_FACTOR 1
#endif
inline constexpr double kTimeFactor = MINFER_TIME_FACTOR;

/// A grammar as a tree; its GBNF text is made from it, so that nothing of the parser is in it.
struct Expression {
  enum class Kind { kText, kClass, kRule, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kText;
  std::u32string text = {};  // kText; kClass: its characters
  bool negated = false;
  int rule = 0;
  int min = 0;
  int max = -1;  // -1: no end
  std::vector<Expression> parts = {};
};

class TreeGrammar {
 public:
  static constexpr std::u32string_view kAlphabet = U"abé🦙";

  /// Rules call only later ones, or any one behind a character, so that there is no left recursion.
  explicit TreeGrammar(std::mt19937& random);

  [[nodiscard]] std::string gbnf() const;
  /// Whether the whole of `text` is one of the grammar's.
  [[nodiscard]] bool accepts(std::u32string_view text) const;
  /// Whether a text of the grammar begins with `text`, where every rule can end.
  [[nodiscard]] bool begins(std::u32string_view text) const;

 private:
  using Ends = std::set<std::size_t>;

  Expression expression(std::mt19937& random, int rule, int depth, bool first) const;
  Ends ends(const Expression& e, std::u32string_view text, std::size_t at, bool& open) const;
  Ends ends_of_repeat(const Expression& e, std::u32string_view text, std::size_t at,
                      bool& open) const;
  static void write(const Expression& e, std::string& out);

  std::vector<Expression> rules_;
};

std::string to_utf8(std::u32string_view text);
/// Up to `length` characters of the alphabet.
std::u32string random_text(std::mt19937& random, std::size_t length);

}  // namespace minfer::sampling
