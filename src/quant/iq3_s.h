// IQ3_S: blocks of 256 elements in 8 groups of 32 with a 4-bit scale, 4 elements an entry of a
// codebook (grids.h): x = d * (2 scale + 1) * +-entry.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ3_S {
  std::uint16_t d;         // bytes 0-1: scale of the scales, f16
  std::uint8_t qs[64];     // bytes 2-65: bits 0-7 of the entry of elements 4 j .. 4 j + 3
  std::uint8_t qh[8];      // bytes 66-73: bit j of byte g is bit 8 of entry 8 g + j
  std::uint8_t signs[32];  // bytes 74-105: bit i of byte j is the sign of element 8 j + i
  std::uint8_t scales[4];  // bytes 106-109: of groups 2j, 2j + 1 in byte j, low half first
};
static_assert(sizeof(BlockIQ3_S) == 110);

/// See codes.h.
Codes codes_of(const BlockIQ3_S& block, int sub);
float unit_of(const BlockIQ3_S& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq3_s(const std::byte* src, float* dst, std::int64_t n);
void encode_iq3_s(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
