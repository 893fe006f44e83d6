// IQ3_XXS: blocks of 256 elements in 8 groups of 32 with a 4-bit scale, 4 elements an entry of a
// codebook (grids.h): x = d / 4 * (2 scale + 1) * +-entry.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ3_XXS {
  std::uint16_t d;      // bytes 0-1: scale of the scales, f16
  std::uint8_t qs[64];  // bytes 2-65: the entry of elements 4 j .. 4 j + 3
  // bytes 66-97, a little-endian word a group: bits 7j .. 7j + 6 the signs of the first 7 of its
  // elements 8 j .. 8 j + 7 (even_signs), bits 28-31 the scale
  std::uint8_t signs[8][4];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

/// See codes.h.
Codes codes_of(const BlockIQ3_XXS& block, int sub);
float unit_of(const BlockIQ3_XXS& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq3_xxs(const std::byte* src, float* dst, std::int64_t n);
void encode_iq3_xxs(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
