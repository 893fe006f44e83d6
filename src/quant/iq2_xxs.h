// IQ2_XXS: blocks of 256 elements in 8 groups of 32 with a 4-bit scale, 8 elements an entry of a
// codebook (grids.h): x = d / 8 * (2 scale + 1) * +-entry.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ2_XXS {
  std::uint16_t d;  // bytes 0-1: scale of the scales, f16
  // bytes 2-65, 8 a group: bytes 0-3 the entries of elements 8 j .. 8 j + 7; then a little-endian
  // word: bits 7j .. 7j + 6 the signs of the first 7 of these (even_signs), bits 28-31 the scale
  std::uint8_t qs[8][8];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

/// See codes.h.
Codes codes_of(const BlockIQ2_XXS& block, int sub);
float unit_of(const BlockIQ2_XXS& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq2_xxs(const std::byte* src, float* dst, std::int64_t n);
void encode_iq2_xxs(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
