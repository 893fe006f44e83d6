// TQ1_0: blocks of 256 elements of -1, 0 or 1, five to a byte, one scale: x = d * t.
//
// A byte holds digits to base 3 of a fraction: digit n is floor(3 * (byte * 3^n mod 256) / 256),
// and an element is its digit less 1.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockTQ1_0 {
  // bytes 0-47: element 32 n + j is digit n of byte j < 32, element 160 + 16 n + j of byte 32 + j
  std::uint8_t qs[48];
  std::uint8_t qh[4];  // bytes 48-51: element 240 + 4 n + j is digit n of byte j
  std::uint16_t d;     // bytes 52-53: scale, f16
};
static_assert(sizeof(BlockTQ1_0) == 54);

/// See codes.h.
Codes codes_of(const BlockTQ1_0& block, int sub);
float unit_of(const BlockTQ1_0& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_tq1_0(const std::byte* src, float* dst, std::int64_t n);
void encode_tq1_0(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
