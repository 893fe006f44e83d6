// k_scales: the 12 bytes of 6-bit scales and minimums that Q4_K and Q5_K share, and how their
// groups of 32 elements are fitted.
//
// Bytes 0-3: bits 0-5 scales 0-3, bits 6-7 bits 4-5 of scales 4-7. Bytes 4-7: the same for the
// minimums. Bytes 8-11: bits 0-3 of scales 4-7 in the low, of minimums 4-7 in the high half.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>

namespace minfer::quant {

struct KScales {
  std::uint8_t scale[8];  // 0..63
  std::uint8_t min[8];    // 0..63
};

KScales unpack_k_scales(const std::uint8_t (&packed)[12]);
void pack_k_scales(const KScales& scales, std::uint8_t (&packed)[12]);

/// A block of 256 elements as codes 0..highest: x is about d * scale[i / 32] * code[i] -
/// dmin * min[i / 32], d and dmin rounded to f16.
struct KFit {
  std::uint16_t d;
  std::uint16_t dmin;
  KScales scales;
  std::uint8_t code[256];
};
KFit fit_k_block(const float* x, int highest);

}  // namespace minfer::quant
