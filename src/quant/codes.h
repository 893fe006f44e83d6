// codes.h: the types whose elements are small integers times integer scales, seen in one way.
//
// Each such type has, beside its block,
//   Codes codes_of(const Block&, int sub)   elements 32 sub .. 32 sub + 31
//   float unit_of(const Block&)             what all scales of the block are multiples of
// and its elements are unit * scale * code, every product exact in binary32.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>

namespace minfer::quant {

/// 32 elements: x[k] = unit * scale[k / 16] * code[k].
struct Codes {
  std::int8_t code[32];
  std::int8_t scale[2];  // equal where the type has one scale for 32 elements
};

/// Decodes one block of kSubs groups of 32 elements.
template <int kSubs, class Block>
void decode_codes(const Block& block, float* x) {
  const float unit = unit_of(block);
  for (int sub = 0; sub < kSubs; ++sub) {
    const Codes codes = codes_of(block, sub);
    for (int k = 0; k < 32; ++k) {
      *x++ = unit * static_cast<float>(codes.scale[k / 16]) * static_cast<float>(codes.code[k]);
    }
  }
}

}  // namespace minfer::quant
