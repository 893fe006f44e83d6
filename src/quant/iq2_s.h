// IQ2_S: blocks of 256 elements in 16 groups of 16 with a 4-bit scale, 8 elements an entry of a
// codebook (grids.h): x = d / 8 * (2 scale + 1) * +-entry.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ2_S {
  std::uint16_t d;         // bytes 0-1: scale of the scales, f16
  std::uint8_t qs[32];     // bytes 2-33: bits 0-7 of the entry of elements 8 j .. 8 j + 7
  std::uint8_t signs[32];  // bytes 34-65: bit i of byte j is the sign of element 8 j + i
  std::uint8_t qh[8];      // bytes 66-73: bits 8-9 of entry 4 g + j in bits 2j, 2j + 1 of byte g
  std::uint8_t scales[8];  // bytes 74-81: of groups 2j, 2j + 1 in byte j, low half first
};
static_assert(sizeof(BlockIQ2_S) == 82);

/// See codes.h.
Codes codes_of(const BlockIQ2_S& block, int sub);
float unit_of(const BlockIQ2_S& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq2_s(const std::byte* src, float* dst, std::int64_t n);
void encode_iq2_s(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
