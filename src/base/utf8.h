// UTF-8: characters out of bytes that may be broken, and back.
//
// Owns: nothing.
// Invariants: every byte of a text belongs to exactly one Char, so walking by `length` always ends
// and loses nothing; a byte that is no part of well-formed UTF-8 is a Char of its own.
// Thread-safety: pure functions; a Utf8Gate is one thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minfer {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Char {
  char32_t code = 0;        // U+FFFD for a broken byte
  std::uint8_t length = 1;  // bytes, 1..4
  bool well_formed = true;  // false: one byte that is not UTF-8
};

/// The character that starts at `pos` < text.size(). Overlong forms, surrogates and values past
/// U+10FFFF are broken bytes (Unicode 15, table 3-7).
Char decode_char(std::string_view text, std::size_t pos);

/// Appends `code` as UTF-8.
void append_utf8(std::string& out, char32_t code);

/// Whether all of `text` is well-formed UTF-8.
bool is_valid_utf8(std::string_view text);

/// How many bytes at the end of `text` (0..3) are the start of a character that more bytes could
/// complete.
std::size_t incomplete_tail(std::string_view text);

/// `text` with every ill-formed stretch replaced by one U+FFFD (maximal subparts, Unicode 15
/// section 3.9).
std::string replace_invalid_utf8(std::string_view text);

/// Lets only whole characters of a stream through: bytes that begin one wait for the rest, what can
/// never become one is U+FFFD. What it hands out, joined, does not depend on how the stream was
/// cut.
class Utf8Gate {
 public:
  /// Appends the characters that `bytes` completes to `out`. At most 3 bytes wait.
  void feed(std::string_view bytes, std::string& out);
  /// The end: an incomplete tail becomes one U+FFFD. Starts over.
  void flush(std::string& out);

 private:
  std::string waiting_;
};

}  // namespace minfer
