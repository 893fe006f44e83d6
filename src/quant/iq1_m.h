// IQ1_M: blocks of 256 elements in 16 groups of 16 with a 3-bit scale, 8 elements an entry of a
// codebook (grids.h) with a shift: x = d / 8 * (2 scale + 1) * (entry + 1 or entry - 1).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ1_M {
  std::uint8_t qs[32];  // bytes 0-31: bits 0-7 of the entry of elements 8 j .. 8 j + 7
  // bytes 32-47: bits 0-2 and 4-6 of byte j are bits 8-10 of entries 2 j and 2 j + 1; bit 3 or 7
  // set: entry - 1
  std::uint8_t qh[16];
  // bytes 48-55: bits 3i .. 3i + 2 of word w are the scale of group 4 w + i; bits 12-15 of word w
  // are bits 4w .. 4w + 3 of the scale of the scales d, f16
  std::uint16_t scales[4];
};
static_assert(sizeof(BlockIQ1_M) == 56);

/// See codes.h.
Codes codes_of(const BlockIQ1_M& block, int sub);
float unit_of(const BlockIQ1_M& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq1_m(const std::byte* src, float* dst, std::int64_t n);
void encode_iq1_m(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
