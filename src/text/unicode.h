// Unicode: characters out of UTF-8 that may be broken, and the classes that tokenizers ask for.
//
// Owns: nothing. Categories, case and decompositions come from utf8proc.
// Invariants: every byte of a text belongs to exactly one Char, so walking by `length` always ends
// and loses nothing; a byte that is no part of well-formed UTF-8 is a Char of its own.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minfer::text {

/// General categories folded to what pre-tokenizer patterns name; a set of bits.
enum CharClass : std::uint16_t {
  kLetter = 1 << 0,       // \p{L}
  kNumber = 1 << 1,       // \p{N}
  kMark = 1 << 2,         // \p{M}
  kPunctuation = 1 << 3,  // \p{P}
  kSymbol = 1 << 4,       // \p{S}
  kSpace = 1 << 5,        // \s: the property White_Space
  kControl = 1 << 6,      // \p{C} without unassigned code points
};

inline constexpr char32_t kReplacement = 0xFFFD;

struct Char {
  char32_t code = 0;        // U+FFFD for a broken byte
  std::uint8_t length = 1;  // bytes, 1..4
  bool well_formed = true;  // false: one byte that is not UTF-8
};

/// The character that starts at `pos` < text.size(). Overlong forms, surrogates and values past
/// U+10FFFF are broken bytes (Unicode 15, table 3-7).
Char decode_char(std::string_view text, std::size_t pos);

/// The CharClass bits of a code point; 0 for unassigned ones.
std::uint16_t classify(char32_t code);

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

/// The lower case of one code point, by simple mapping.
char32_t to_lower(char32_t code);

/// The first code point of the canonical decomposition: the base letter of a composed one.
char32_t base_of(char32_t code);

}  // namespace minfer::text
