// Q2_K: blocks of 256 elements, 2 bits each, in 16 groups of 16 with a 4-bit scale and a 4-bit
// minimum: x = d * scale[i / 16] * q - dmin * min[i / 16].
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockQ2_K {
  std::uint8_t scales[16];  // bytes 0-15: scale in the low, minimum in the high half
  // bytes 16-79: bits 2p, 2p + 1 of byte 32 h + j hold element 128 h + 32 p + j
  std::uint8_t qs[64];
  std::uint16_t d;     // bytes 80-81: scale of the scales, f16
  std::uint16_t dmin;  // bytes 82-83: scale of the minimums, f16
};
static_assert(sizeof(BlockQ2_K) == 84);

/// See codes.h: the first term of x.
Codes codes_of(const BlockQ2_K& block, int sub);
float unit_of(const BlockQ2_K& block);

/// The minimums of elements 32 sub .. 32 sub + 15 and of the 16 after them; dmin as a float.
struct Mins {
  std::int8_t min[2];
};
Mins mins_of(const BlockQ2_K& block, int sub);
float min_unit_of(const BlockQ2_K& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_q2_k(const std::byte* src, float* dst, std::int64_t n);
void encode_q2_k(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
