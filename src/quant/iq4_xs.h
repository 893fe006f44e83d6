// IQ4_XS: blocks of 256 elements, 4 bits each, in 8 groups of 32 with a 6-bit scale:
// x = d * (scale[i / 32] - 32) * kLevelsIq4[q] (iq4_nl.h).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ4_XS {
  std::uint16_t d;           // bytes 0-1: scale of the scales, f16
  std::uint16_t scales_h;    // bytes 2-3: bits 4-5 of scale g in bits 2g, 2g + 1
  std::uint8_t scales_l[4];  // bytes 4-7: bits 0-3 of scales 2j, 2j + 1 in byte j, low half first
  // bytes 8-135: element 32 g + i in the low, 32 g + i + 16 in the high half of byte 16 g + i
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

/// See codes.h.
Codes codes_of(const BlockIQ4_XS& block, int sub);
float unit_of(const BlockIQ4_XS& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_iq4_xs(const std::byte* src, float* dst, std::int64_t n);
void encode_iq4_xs(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
