// Q5_1: blocks of 32 elements, 5 bits each, scale and minimum: x = d * q + m.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

struct BlockQ5_1 {
  std::uint16_t d;      // bytes 0-1: scale, f16
  std::uint16_t m;      // bytes 2-3: minimum, f16
  std::uint8_t qh[4];   // bytes 4-7: little-endian word, bit i is bit 4 of element i
  std::uint8_t qs[16];  // bytes 8-23: bits 0-3, element i low, i + 16 high half of byte i
};
static_assert(sizeof(BlockQ5_1) == 24);

/// Rows of n elements, n a multiple of 32; see Codec.
void decode_q5_1(const std::byte* src, float* dst, std::int64_t n);
void encode_q5_1(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
