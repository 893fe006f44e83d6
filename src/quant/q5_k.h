// Q5_K: blocks of 256 elements, 5 bits each, in 8 groups of 32 with a 6-bit scale and a 6-bit
// minimum: x = d * scale[g] * q - dmin * min[g], g = i / 32.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

struct BlockQ5_K {
  std::uint16_t d;          // bytes 0-1: scale of the scales, f16
  std::uint16_t dmin;       // bytes 2-3: scale of the minimums, f16
  std::uint8_t scales[12];  // bytes 4-15: 8 scales and 8 minimums, see k_scales.h
  std::uint8_t qh[32];      // bytes 16-47: bit g of byte j is bit 4 of element 32 g + j
  // bytes 48-175: bits 0-3; byte 32 c + j: element 64 c + j low, 64 c + 32 + j high half
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_q5_k(const std::byte* src, float* dst, std::int64_t n);
void encode_q5_k(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
