// Q4_0: blocks of 32 elements, 4 bits each, one scale: x = d * (q - 8).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

struct BlockQ4_0 {
  std::uint16_t d;      // bytes 0-1: scale, f16
  std::uint8_t qs[16];  // bytes 2-17: element i in the low, i + 16 in the high half of byte i
};
static_assert(sizeof(BlockQ4_0) == 18);

/// Rows of n elements, n a multiple of 32; see Codec.
void decode_q4_0(const std::byte* src, float* dst, std::int64_t n);
void encode_q4_0(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
