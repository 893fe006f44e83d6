// blocks.h: what the codecs share: walking a row block by block, rounding to a code, and nibbles.
//
// Thread-safety: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace minfer::quant {

/// Decodes the n / kElements blocks at `src`, one call of decode(block, x) each.
template <std::int64_t kElements, class Block>
void decode_blocks(const std::byte* src, float* dst, std::int64_t n,
                   void (*decode)(const Block&, float*)) {
  for (std::int64_t i = 0; i < n; i += kElements) {
    decode(load_le<Block>(src), dst + i);
    src += sizeof(Block);
  }
}

/// Encodes n / kElements blocks to `dst`, one call of encode(x) each.
template <std::int64_t kElements, class Block>
void encode_blocks(const float* src, std::byte* dst, std::int64_t n,
                   Block (*encode)(const float*)) {
  for (std::int64_t i = 0; i < n; i += kElements) {
    store_le(dst, encode(src + i));
    dst += sizeof(Block);
  }
}

/// `value` cut towards zero and clamped to lowest..highest; NaN gives `lowest`.
inline int to_code(double value, int lowest, int highest) {
  if (!(value > lowest)) return lowest;
  if (value >= highest) return highest;
  return static_cast<int>(value);
}

/// The integer nearest to `value`, halves away from zero, clamped to lowest..highest.
inline int nearest_code(double value, int lowest, int highest) {
  return to_code(std::round(value), lowest, highest);
}

/// The place of the level nearest to `value`, the first of equals.
inline int nearest_level(float value, std::span<const std::int8_t> levels) {
  int best = 0;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const float distance = std::fabs(value - static_cast<float>(levels[i]));
    const float least =
        std::fabs(value - static_cast<float>(levels[static_cast<std::size_t>(best)]));
    if (distance < least) best = static_cast<int>(i);
  }
  return best;
}

/// 1 / d, or 0 for d = 0: a block of zeros gets the code of zero.
inline float reciprocal(float d) { return d == 0.0f ? 0.0f : 1.0f / d; }

/// The element of `x` with the largest magnitude (the first of equals), with its sign.
inline float signed_peak(std::span<const float> x) {
  float peak = 0.0f;
  for (const float value : x) {
    if (std::fabs(value) > std::fabs(peak)) peak = value;
  }
  return peak;
}

/// Smallest and largest element.
struct Range {
  float min;
  float max;
};
inline Range range_of(std::span<const float> x) {
  const auto [min, max] = std::minmax_element(x.begin(), x.end());
  return {*min, *max};
}

/// Two 4-bit codes in a byte.
inline std::uint8_t pack_nibbles(int low, int high) {
  return static_cast<std::uint8_t>(low | (high << 4));
}
inline int low_nibble(std::uint8_t byte) { return byte & 0x0f; }
inline int high_nibble(std::uint8_t byte) { return byte >> 4; }

}  // namespace minfer::quant
