// layout_codes.h: interleaved tiles of the types of quant/codes.h; see layout.h.
//
// Thread-safety: types and constants.
#pragma once

#include <cstdint>

#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {

/// 2-bit codes of 32 elements of 8 rows: bits 2 u, 2 u + 1 of byte i of half h belong to element
/// 16 h + 4 u + i.
struct TileTwoBits {
  std::uint8_t half[2][kTileLanes][4];
};
/// One more bit of 32 elements of 8 rows: bit s of byte i of lane r is that of element 4 s + i.
struct TileBits {
  std::uint8_t lane[kTileLanes][4];
};

struct TileQ2_K {
  struct Sub {
    TileTwoBits low;
    std::uint8_t scale[2][kTileLanes];  // as in the file: the scale low, the minimum high
  };
  std::uint16_t d[kTileLanes];
  std::uint16_t dmin[kTileLanes];
  Sub sub[8];
};
struct TileQ3_K {
  struct Sub {
    TileTwoBits low;
    TileBits high;
    std::int8_t scale[2][kTileLanes];  // 32 taken
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
struct TileTQ2_0 {
  struct Sub {
    TileTwoBits low;
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
/// Codes are those of the file, not their levels.
struct TileIQ4_NL {
  TileNibbles low;
  std::uint16_t d[kTileLanes];
};
struct TileMXFP4 {
  TileNibbles low;
  std::uint8_t e[kTileLanes];
};
struct TileIQ4_XS {
  struct Sub {
    TileNibbles low;
    std::int8_t scale[kTileLanes];  // 32 taken
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};

/// The signs of 32 elements of 8 rows, laid out as TileBits. In the types with an even number of
/// signs in 8 elements, the eighth sign of group j is not kept: bit 2 j + 1 of byte 3 is another's.
using TileSigns = TileBits;

/// Entries of 4 elements: step s of the 32 is entry s.
struct TileIQ3_S {
  struct Sub {
    std::uint8_t entry[8][kTileLanes];
    TileSigns signs;
    std::uint8_t high[kTileLanes];  // bit s: bit 8 of entry s
    std::uint8_t scale[kTileLanes];
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
struct TileIQ3_XXS {
  struct Sub {
    std::uint8_t entry[8][kTileLanes];
    TileSigns signs;  // even; the spare bits are the scale
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
/// Entries of 8 elements: steps 2 j and 2 j + 1 of the 32 are entry j.
struct TileIQ2_XXS {
  struct Sub {
    std::uint8_t entry[4][kTileLanes];
    TileSigns signs;  // even; the spare bits are the scale
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
struct TileIQ2_XS {
  struct Sub {
    std::uint8_t entry[4][kTileLanes];
    TileSigns signs;                  // even; spare bit j is bit 8 of entry j
    std::uint8_t scales[kTileLanes];  // as in the file: elements 0-15 low, 16-31 high
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
struct TileIQ2_S {
  struct Sub {
    std::uint8_t entry[4][kTileLanes];
    TileSigns signs;
    std::uint8_t high[kTileLanes];    // bits 2 j, 2 j + 1: bits 8-9 of entry j
    std::uint8_t scales[kTileLanes];  // as in the file: elements 0-15 low, 16-31 high
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
/// `high` as in the file.
struct TileIQ1_S {
  struct Sub {
    std::uint8_t entry[4][kTileLanes];
    std::uint16_t high[kTileLanes];
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
struct TileIQ1_M {
  struct Sub {
    std::uint8_t entry[4][kTileLanes];
    std::uint16_t high[kTileLanes];   // the two bytes of the file
    std::uint8_t scales[kTileLanes];  // bits 0-2, 3-5: scales of elements 0-15, 16-31
  };
  std::uint16_t d[kTileLanes];
  Sub sub[8];
};
/// Words of 4 bytes as in the file: 0-7 hold elements 0-159, 8-11 elements 160-239, 12 the rest.
struct TileTQ1_0 {
  std::uint8_t word[13][kTileLanes][4];
  std::uint16_t d[kTileLanes];
};

// Of 8 rows in the file: the same, but for scales that are kept a byte each.
static_assert(sizeof(TileQ2_K) == 8 * 84 && sizeof(TileQ3_K) == 8 * 114);  // Q3_K: 110
static_assert(sizeof(TileTQ2_0) == 8 * 66 && sizeof(TileTQ1_0) == 8 * 54);
static_assert(sizeof(TileIQ4_NL) == 8 * 18 && sizeof(TileMXFP4) == 8 * 17);
static_assert(sizeof(TileIQ4_XS) == 8 * 138 && sizeof(TileIQ3_S) == 8 * 114);  // 136, 110
static_assert(sizeof(TileIQ3_XXS) == 8 * 98 && sizeof(TileIQ2_XXS) == 8 * 66);
static_assert(sizeof(TileIQ2_XS) == 8 * 74 && sizeof(TileIQ2_S) == 8 * 82);
static_assert(sizeof(TileIQ1_S) == 8 * 50 && sizeof(TileIQ1_M) == 8 * 58);  // IQ1_M: 56

}  // namespace minfer::cpu
