// Q6_K: blocks of 256 elements, 6 bits each, in 16 groups of 16 with an 8-bit scale:
// x = d * scale[i / 16] * (q - 32).
//
// A block is two halves of 128; in half h, element 128 h + 32 p + j (p = 0..3, j = 0..31) has bits
// 0-3 in ql[64 h + 32 (p % 2) + j] (the low half of the byte for p < 2, else the high one) and bits
// 4-5 in bits 2p and 2p + 1 of qh[32 h + j].
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

struct BlockQ6_K {
  std::uint8_t ql[128];    // bytes 0-127: bits 0-3
  std::uint8_t qh[64];     // bytes 128-191: bits 4-5
  std::int8_t scales[16];  // bytes 192-207: two's complement
  std::uint16_t d;         // bytes 208-209: scale of the scales, f16
};
static_assert(sizeof(BlockQ6_K) == 210);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_q6_k(const std::byte* src, float* dst, std::int64_t n);
void encode_q6_k(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
