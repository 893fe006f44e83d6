// TQ2_0: blocks of 256 elements of -1, 0 or 1, 2 bits each, one scale: x = d * (q - 1).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/codes.h"

namespace minfer::quant {

struct BlockTQ2_0 {
  // bytes 0-63: bits 2p, 2p + 1 of byte 32 h + j hold element 128 h + 32 p + j
  std::uint8_t qs[64];
  std::uint16_t d;  // bytes 64-65: scale, f16
};
static_assert(sizeof(BlockTQ2_0) == 66);

/// See codes.h.
Codes codes_of(const BlockTQ2_0& block, int sub);
float unit_of(const BlockTQ2_0& block);

/// Rows of n elements, n a multiple of 256; see Codec.
void decode_tq2_0(const std::byte* src, float* dst, std::int64_t n);
void encode_tq2_0(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
