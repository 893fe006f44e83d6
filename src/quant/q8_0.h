// Q8_0: blocks of 32 elements, 8 bits each, one scale: x = d * q.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

struct BlockQ8_0 {
  std::uint16_t d;     // bytes 0-1: scale, f16
  std::int8_t qs[32];  // bytes 2-33: element i in byte i, two's complement
};
static_assert(sizeof(BlockQ8_0) == 34);

/// Rows of n elements, n a multiple of 32; see Codec.
void decode_q8_0(const std::byte* src, float* dst, std::int64_t n);
void encode_q8_0(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
