// MXFP4: blocks of 32 elements, 4 bits each (E2M1), one power of two as scale (E8M0):
// x = 2^(e - 128) * kLevelsMxfp4[q]. The OCP Microscaling format; levels are doubled here.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockMXFP4 {
  std::uint8_t e;       // byte 0: exponent of the scale
  std::uint8_t qs[16];  // bytes 1-16: element i in the low, i + 16 in the high half of byte i
};
static_assert(sizeof(BlockMXFP4) == 17);

/// See codes.h.
Codes codes_of(const BlockMXFP4& block, int sub);
float unit_of(const BlockMXFP4& block);

inline constexpr std::int8_t kLevelsMxfp4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

/// Rows of n elements, n a multiple of 32; see Codec.
void decode_mxfp4(const std::byte* src, float* dst, std::int64_t n);
void encode_mxfp4(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
