// Marks: finding literal marks in a text that is still growing.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace minfer::chat {

inline constexpr std::string_view kBlanks = " \t\r\n";

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
bool is_blank(std::string_view text);

/// What begins at the front of a text.
enum class Match : std::uint8_t { kNo, kMaybe, kYes };  // kMaybe: the text ends inside the mark
Match match_at(std::string_view text, std::string_view mark);

struct MarkHit {
  std::size_t at = 0;     // text.size(): no mark and no beginning of one
  std::size_t index = 0;  // of the mark
  bool whole = false;     // false: text[at..] is a true prefix of a mark
};

/// The first place where a mark stands, or where the text ends inside one; of marks at the same
/// place the longest. While a longer one may still come, it is not whole. Empty marks never match.
/// `is_final`: nothing follows, so only whole marks count.
MarkHit find_mark(std::string_view text, std::span<const std::string> marks, bool is_final);

}  // namespace minfer::chat
