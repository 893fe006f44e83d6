// Scanner: the characters of a grammar's text, with their places, and the literals made of them.
//
// Invariants: every byte up to position() was well-formed UTF-8.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sampling/grammar/program.h"

namespace minfer::sampling {

/// The error `what` at a place of the grammar's text; `rule` may be empty.
Status grammar_error(Place place, std::string_view rule, std::string_view what);

class Scanner {
 public:
  /// `text` must be UTF-8 (see check_utf8()) and stay. A byte-order mark is skipped.
  explicit Scanner(std::string_view text)
      : text_(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text) {}

  /// kInvalidArgument with the place of the first byte that is no UTF-8.
  static Status check_utf8(std::string_view text);

  [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }
  [[nodiscard]] Place place() const { return place_; }
  /// The byte ahead, or 0 at the end.
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[pos_]; }
  [[nodiscard]] bool looking_at(std::string_view word) const {
    return text_.substr(pos_).starts_with(word);
  }
  /// Takes the character ahead, which must be there.
  char32_t take();
  bool take_if(std::string_view word);

  /// Skips blanks, line ends and comments. Whether a line end was among them.
  bool skip_blanks();
  /// A rule's name: letters, digits, - and _; empty where none is ahead.
  std::string_view take_name();
  /// Whether `::=` follows on this line, blanks aside.
  [[nodiscard]] bool defines_ahead() const;

  /// A character of a string or class, which ends with `closing`; escapes are resolved. `rule` is
  /// for the errors.
  Result<char32_t> take_literal(char closing, std::string_view rule);
  /// A class from its `[` on. Errors: unterminated, empty, a range that runs backwards.
  Result<CharClass> take_class(std::string_view rule);
  /// A count of a repetition. Errors: no number, or over kMaxCount.
  Result<std::uint64_t> take_count(std::string_view rule);
  /// The text up to `closing` on this line, which is taken too; at least one character.
  Result<std::string_view> take_until(char closing, std::string_view rule);

  static constexpr std::uint64_t kMaxCount = 1'000'000'000;

 private:
  Result<char32_t> take_escape(std::string_view rule, Place start);

  std::string_view text_;
  std::size_t pos_ = 0;
  Place place_;
};

}  // namespace minfer::sampling
