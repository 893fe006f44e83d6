// layout.h: bytes of Q8A rows and of interleaved weight tiles, shared by all kernels.
//
// A tile holds 8 rows of the weight; inside, block after block along k. The quants of 32 elements
// are 8 steps of 4 elements: in a step, lane r (4 bytes) holds elements 4 s .. 4 s + 3 of row r, so
// that one 32-byte load meets 4 activations repeated in every lane. 4-bit codes share their bytes:
// byte i of word u has step u in its low half and step u + 4 in its high half.
// Thread-safety: types and constants.
#pragma once

#include <cstdint>

namespace minfer::cpu {

/// 32 activations of a row, quantised in halves of 16 (docs/arithmetic.md).
struct Q8ABlock {
  std::int8_t q[32];
  float d[2];  // amax / 127 of elements 0-15 and 16-31
  float s;     // d[0] * sum of its q + d[1] * sum of its q
  /// -16 times the sums of q over k % 4 in {0, 1} and {2, 3} of elements 0-15, then of 16-31: what
  /// vector code starts the 16-bit sums of the types with an offset from.
  std::int16_t offset[4];
};
static_assert(sizeof(Q8ABlock) == 52);

inline constexpr int kTileLanes = 8;
inline constexpr int kBlockElements = 32;
inline constexpr int kHalfElements = 16;  // share one scale of the activations

/// 4-bit codes of 32 elements of 8 rows.
struct TileNibbles {
  std::uint8_t word[4][kTileLanes][4];
};
/// The fifth bit of 32 elements of 8 rows: bit s of byte i of lane r is that of element 4 s + i.
struct TileFifthBits {
  std::uint8_t lane[kTileLanes][4];
};
/// Bits 4 and 5 of 32 elements of 8 rows: bits 2 u, 2 u + 1 of byte i of half h belong to element
/// 16 h + 4 u + i.
struct TileTopBits {
  std::uint8_t half[2][kTileLanes][4];
};

struct TileQ4_0 {
  TileNibbles low;
  std::uint16_t d[kTileLanes];
};
struct TileQ4_1 {
  TileNibbles low;
  std::uint16_t d[kTileLanes];
  std::uint16_t m[kTileLanes];
};
struct TileQ5_0 {
  TileNibbles low;
  TileFifthBits high;
  std::uint16_t d[kTileLanes];
};
struct TileQ5_1 {
  TileNibbles low;
  TileFifthBits high;
  std::uint16_t d[kTileLanes];
  std::uint16_t m[kTileLanes];
};
struct TileQ8_0 {
  std::int8_t q[8][kTileLanes][4];
  std::uint16_t d[kTileLanes];
};

/// K-quants: 256 elements in 8 sub-blocks of 32. The 6-bit scales are kept a byte each.
struct TileQ4_K {
  struct Sub {
    TileNibbles low;
    std::uint8_t scale[kTileLanes];
    std::uint8_t min[kTileLanes];
  };
  std::uint16_t d[kTileLanes];
  std::uint16_t dmin[kTileLanes];
  Sub sub[8];
};
struct TileQ5_K {
  struct Sub {
    TileNibbles low;
    TileFifthBits high;
    std::uint8_t scale[kTileLanes];
    std::uint8_t min[kTileLanes];
  };
  std::uint16_t d[kTileLanes];
  std::uint16_t dmin[kTileLanes];
  Sub sub[8];
};
struct TileQ6_K {
  struct Sub {
    TileNibbles low;
    TileTopBits high;
    std::int8_t scale[2][kTileLanes];  // elements 0-15, 16-31
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};

static_assert(sizeof(TileQ4_0) == 8 * 18 && sizeof(TileQ4_1) == 8 * 20);
static_assert(sizeof(TileQ5_0) == 8 * 22 && sizeof(TileQ5_1) == 8 * 24);
static_assert(sizeof(TileQ8_0) == 8 * 34 && sizeof(TileQ6_K) == 8 * 210);
static_assert(sizeof(TileQ4_K) == 8 * 148 && sizeof(TileQ5_K) == 8 * 180);  // file: 144, 176

}  // namespace minfer::cpu
