// IQ4_NL: blocks of 32 elements, 4 bits each, one scale: x = d * kLevelsIq4[q].
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockIQ4_NL {
  std::uint16_t d;      // bytes 0-1: scale, f16
  std::uint8_t qs[16];  // bytes 2-17: element i in the low, i + 16 in the high half of byte i
};
static_assert(sizeof(BlockIQ4_NL) == 18);

/// See codes.h.
Codes codes_of(const BlockIQ4_NL& block, int sub);
float unit_of(const BlockIQ4_NL& block);

/// The levels of IQ4_NL and IQ4_XS: dense near zero, as weights are.
inline constexpr std::int8_t kLevelsIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

/// Rows of n elements, n a multiple of 32; see Codec.
void decode_iq4_nl(const std::byte* src, float* dst, std::int64_t n);
void encode_iq4_nl(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
