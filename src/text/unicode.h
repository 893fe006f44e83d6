// Unicode: the classes of characters that tokenizers ask for, and how text stands on a terminal.
//
// Owns: nothing. Categories, case and decompositions come from utf8proc.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>

#include "base/utf8.h"

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

/// The CharClass bits of a code point; 0 for unassigned ones.
std::uint16_t classify(char32_t code);

/// The lower case of one code point, by simple mapping.
char32_t to_lower(char32_t code);

/// The first code point of the canonical decomposition: the base letter of a composed one.
char32_t base_of(char32_t code);

/// Whether a grapheme cluster ends between two code points (UAX #29, extended clusters). `state` is
/// 0 in front of the first pair of a cluster and carried from pair to pair.
bool ends_cluster(char32_t left, char32_t right, std::int32_t& state);

/// The columns that a terminal gives a code point: 0, 1 or 2.
int column_width(char32_t code);

}  // namespace minfer::text
