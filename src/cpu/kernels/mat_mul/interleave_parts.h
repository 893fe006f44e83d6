// interleave_parts.h: parts of a block that a tile keeps in the file's own order, or nearly so.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {

/// 4-bit codes of 32 elements as Q4_0 keeps them: elements 0-15 in the low halves of the bytes.
inline void put_nibbles(const std::uint8_t* qs, int lane, TileNibbles& to) {
  for (int u = 0; u < 4; ++u) store_le(to.word[u][lane], load_le<std::uint32_t>(qs + 4 * u));
}
inline void take_nibbles(const TileNibbles& from, int lane, std::uint8_t* qs) {
  for (int u = 0; u < 4; ++u) store_le(qs + 4 * u, load_le<std::uint32_t>(from.word[u][lane]));
}

/// Swaps the bits of `x` at every position p of `mask` with those at p + kDistance: one step of a
/// permutation that exchanges two bits of all positions' numbers.
template <int kDistance>
constexpr std::uint32_t swap_bits(std::uint32_t x, std::uint32_t mask) {
  const std::uint32_t changed = ((x >> kDistance) ^ x) & mask;
  return x ^ changed ^ (changed << kDistance);
}

/// 32 bits, element e in bit e, to and from the order of TileFifthBits: bit 8 i + s for e = 4 s +
/// i. The number of a position goes from (s2 s1 s0 i1 i0) to (i1 i0 s2 s1 s0) in four exchanges.
constexpr std::uint32_t to_lane_bits(std::uint32_t bits) {
  bits = swap_bits<14>(bits, 0x0000cccc);
  bits = swap_bits<7>(bits, 0x00aa00aa);
  bits = swap_bits<2>(bits, 0x0c0c0c0c);
  return swap_bits<1>(bits, 0x22222222);
}
constexpr std::uint32_t from_lane_bits(std::uint32_t word) {
  word = swap_bits<1>(word, 0x22222222);
  word = swap_bits<2>(word, 0x0c0c0c0c);
  word = swap_bits<7>(word, 0x00aa00aa);
  return swap_bits<14>(word, 0x0000cccc);
}

}  // namespace minfer::cpu
