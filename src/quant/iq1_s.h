// IQ1_S: blocks of 256 elements in 8 groups of 32 with a 3-bit scale and a shift, 8 elements an
// entry of a codebook (grids.h): x = d / 8 * (2 scale + 1) * (entry + 1 or entry - 1).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ1_S {
  std::uint16_t d;      // bytes 0-1: scale of the scales, f16
  std::uint8_t qs[32];  // bytes 2-33: bits 0-7 of the entry of elements 8 j .. 8 j + 7
  // bytes 34-49, a group each: bits 3j .. 3j + 2 are bits 8-10 of its entry j; bits 12-14 the
  // scale; bit 15 set: entry - 1
  std::uint16_t qh[8];
};
static_assert(sizeof(BlockIQ1_S) == 50);

/// See codes.h.
Codes codes_of(const BlockIQ1_S& block, int sub);
float unit_of(const BlockIQ1_S& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq1_s(const std::byte* src, float* dst, std::int64_t n);
void encode_iq1_s(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
