// Q3_K: blocks of 256 elements, 3 bits each, in 16 groups of 16 with a 6-bit scale:
// x = d * (scale[i / 16] - 32) * (q - 4).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockQ3_K {
  std::uint8_t hmask[32];  // bytes 0-31: bit g of byte j is bit 2 of element 32 g + j
  // bytes 32-95: bits 2p, 2p + 1 of byte 32 h + j hold bits 0-1 of element 128 h + 32 p + j
  std::uint8_t qs[64];
  // bytes 96-107: bits 0-3 of scale g in the low half of byte g, of scale g + 8 in the high half
  // (g < 8); bits 4-5 of scale 4 p + j in bits 2p, 2p + 1 of byte 8 + j
  std::uint8_t scales[12];
  std::uint16_t d;  // bytes 108-109: scale of the scales, f16
};
static_assert(sizeof(BlockQ3_K) == 110);

/// See codes.h.
Codes codes_of(const BlockQ3_K& block, int sub);
float unit_of(const BlockQ3_K& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_q3_k(const std::byte* src, float* dst, std::int64_t n);
void encode_q3_k(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
