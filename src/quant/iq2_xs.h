// IQ2_XS: blocks of 256 elements in 16 groups of 16 with a 4-bit scale, 8 elements an entry of a
// codebook (grids.h): x = d / 8 * (2 scale + 1) * +-entry.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ2_XS {
  std::uint16_t d;  // bytes 0-1: scale of the scales, f16
  // bytes 2-65, elements 8 j .. 8 j + 7: bits 0-8 the entry, 9-15 seven signs (even_signs)
  std::uint16_t qs[32];
  std::uint8_t scales[8];  // bytes 66-73: of groups 2j, 2j + 1 in byte j, low half first
};
static_assert(sizeof(BlockIQ2_XS) == 74);

/// See codes.h.
Codes codes_of(const BlockIQ2_XS& block, int sub);
float unit_of(const BlockIQ2_XS& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq2_xs(const std::byte* src, float* dst, std::int64_t n);
void encode_iq2_xs(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
