// Re-ordering of the types of quant/codes.h: their codes as they are in the file, in the places
// that layout_codes.h names.

#include "cpu/kernels/mat_mul/interleave.h"
#include "cpu/kernels/mat_mul/interleave_parts.h"
#include "cpu/kernels/mat_mul/layout_codes.h"
#include "cpu/kernels/mat_mul/plain.h"
#include "cpu/kernels/mat_mul/plain_codes.h"

namespace minfer::cpu {
namespace {

/// 2-bit codes of sub-block `sub`, which the file keeps 128 elements to 32 bytes.
void put_two_bits(const std::uint8_t (&qs)[64], int sub, int lane, TileTwoBits& to) {
  for (int half = 0; half < 2; ++half) {
    std::uint32_t word = 0;
    for (int u = 0; u < 4; ++u) {
      const auto codes = load_le<std::uint32_t>(qs + 32 * (sub / 4) + 16 * half + 4 * u);
      word |= ((codes >> (2 * (sub % 4))) & kLow2) << (2 * u);
    }
    store_le(to.half[half][lane], word);
  }
}
void take_two_bits(const TileTwoBits& from, int sub, int lane, std::uint8_t (&qs)[64]) {
  for (int s = 0; s < 8; ++s) {
    const auto word = load_le<std::uint32_t>(from.half[s / 4][lane]);
    merge_word(qs + 32 * (sub / 4) + 4 * s, kLow2, 2 * (sub % 4), word >> (2 * (s % 4)));
  }
}

constexpr std::uint32_t kSpareBits = 0xaa000000;

/// Even signs, 7 bits a group of 8 elements in `sevens`, and 4 spare bits.
void put_even_signs(std::uint32_t sevens, std::uint32_t spare, int lane, TileSigns& to) {
  std::uint32_t signs = 0;
  for (int j = 0; j < 4; ++j) signs |= ((sevens >> (7 * j)) & 0x7fu) << (8 * j);
  std::uint32_t word = to_lane_bits(signs) & ~kSpareBits;
  for (int j = 0; j < 4; ++j) word |= ((spare >> j) & 1u) << (25 + 2 * j);
  store_le(to.lane[lane], word);
}
struct EvenSigns {
  std::uint32_t sevens;
  std::uint32_t spare;
};
EvenSigns take_even_signs(const TileSigns& from, int lane) {
  const auto word = load_le<std::uint32_t>(from.lane[lane]);
  const std::uint32_t signs = from_lane_bits(word);
  EvenSigns to{};
  for (int j = 0; j < 4; ++j) {
    to.sevens |= ((signs >> (8 * j)) & 0x7fu) << (7 * j);
    to.spare |= ((word >> (25 + 2 * j)) & 1u) << j;
  }
  return to;
}

// put(block, lane, tile) and take(tile, lane, block), a pair a type.

void put(const quant::BlockQ2_K& block, int lane, TileQ2_K& to) {
  to.d[lane] = block.d;
  to.dmin[lane] = block.dmin;
  for (int sub = 0; sub < 8; ++sub) {
    put_two_bits(block.qs, sub, lane, to.sub[sub].low);
    for (int h = 0; h < 2; ++h) to.sub[sub].scale[h][lane] = block.scales[2 * sub + h];
  }
}
void take(const TileQ2_K& from, int lane, quant::BlockQ2_K& block) {
  block.d = from.d[lane];
  block.dmin = from.dmin[lane];
  for (int sub = 0; sub < 8; ++sub) {
    take_two_bits(from.sub[sub].low, sub, lane, block.qs);
    for (int h = 0; h < 2; ++h) block.scales[2 * sub + h] = from.sub[sub].scale[h][lane];
  }
}

void put(const quant::BlockQ3_K& block, int lane, TileQ3_K& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    TileQ3_K::Sub& part = to.sub[sub];
    put_two_bits(block.qs, sub, lane, part.low);
    std::uint32_t high = 0;
    for (int s = 0; s < 8; ++s) {
      high |= ((load_le<std::uint32_t>(block.hmask + 4 * s) >> sub) & kLow1) << s;
    }
    store_le(part.high.lane[lane], high);
    const quant::Codes codes = quant::codes_of(block, sub);
    for (int h = 0; h < 2; ++h) part.scale[h][lane] = codes.scale[h];
  }
}
void take(const TileQ3_K& from, int lane, quant::BlockQ3_K& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    const TileQ3_K::Sub& part = from.sub[sub];
    take_two_bits(part.low, sub, lane, block.qs);
    const auto high = load_le<std::uint32_t>(part.high.lane[lane]);
    for (int s = 0; s < 8; ++s) merge_word(block.hmask + 4 * s, kLow1, sub, high >> s);
    for (int h = 0; h < 2; ++h) {
      const int g = 2 * sub + h;
      const int scale = part.scale[h][lane] + 32;
      std::uint8_t& low = block.scales[g % 8];
      std::uint8_t& top = block.scales[8 + g % 4];
      low = static_cast<std::uint8_t>(low | ((scale & 15) << (4 * (g / 8))));
      top = static_cast<std::uint8_t>(top | ((scale >> 4) << (2 * (g / 4))));
    }
  }
}

void put(const quant::BlockTQ2_0& block, int lane, TileTQ2_0& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) put_two_bits(block.qs, sub, lane, to.sub[sub].low);
}
void take(const TileTQ2_0& from, int lane, quant::BlockTQ2_0& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) take_two_bits(from.sub[sub].low, sub, lane, block.qs);
}

void put(const quant::BlockIQ4_NL& block, int lane, TileIQ4_NL& to) {
  to.d[lane] = block.d;
  put_nibbles(block.qs, lane, to.low);
}
void take(const TileIQ4_NL& from, int lane, quant::BlockIQ4_NL& block) {
  block.d = from.d[lane];
  take_nibbles(from.low, lane, block.qs);
}

void put(const quant::BlockMXFP4& block, int lane, TileMXFP4& to) {
  to.e[lane] = block.e;
  put_nibbles(block.qs, lane, to.low);
}
void take(const TileMXFP4& from, int lane, quant::BlockMXFP4& block) {
  block.e = from.e[lane];
  take_nibbles(from.low, lane, block.qs);
}

void put(const quant::BlockIQ4_XS& block, int lane, TileIQ4_XS& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    put_nibbles(block.qs + 16 * sub, lane, to.sub[sub].low);
    to.sub[sub].scale[lane] = quant::codes_of(block, sub).scale[0];
  }
}
void take(const TileIQ4_XS& from, int lane, quant::BlockIQ4_XS& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    take_nibbles(from.sub[sub].low, lane, block.qs + 16 * sub);
    const int scale = from.sub[sub].scale[lane] + 32;
    std::uint8_t& low = block.scales_l[sub / 2];
    low = static_cast<std::uint8_t>(low | ((scale & 15) << (4 * (sub % 2))));
    block.scales_h = static_cast<std::uint16_t>(block.scales_h | ((scale >> 4) << (2 * sub)));
  }
}

/// Entries 0 .. kEntries - 1 of a sub-block.
template <std::size_t kEntries>
void put_entries(const std::uint8_t* qs, int lane, std::uint8_t (&to)[kEntries][kTileLanes]) {
  for (std::size_t j = 0; j < kEntries; ++j) to[j][lane] = qs[j];
}
template <std::size_t kEntries>
void take_entries(const std::uint8_t (&from)[kEntries][kTileLanes], int lane, std::uint8_t* qs) {
  for (std::size_t j = 0; j < kEntries; ++j) qs[j] = from[j][lane];
}

void put(const quant::BlockIQ3_S& block, int lane, TileIQ3_S& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    TileIQ3_S::Sub& part = to.sub[sub];
    put_entries(block.qs + 8 * sub, lane, part.entry);
    store_le(part.signs.lane[lane], to_lane_bits(load_le<std::uint32_t>(block.signs + 4 * sub)));
    part.high[lane] = block.qh[sub];
    part.scale[lane] = (block.scales[sub / 2] >> (4 * (sub % 2))) & 15;
  }
}
void take(const TileIQ3_S& from, int lane, quant::BlockIQ3_S& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    const TileIQ3_S::Sub& part = from.sub[sub];
    take_entries(part.entry, lane, block.qs + 8 * sub);
    store_le(block.signs + 4 * sub, from_lane_bits(load_le<std::uint32_t>(part.signs.lane[lane])));
    block.qh[sub] = part.high[lane];
    std::uint8_t& scales = block.scales[sub / 2];
    scales = static_cast<std::uint8_t>(scales | (part.scale[lane] << (4 * (sub % 2))));
  }
}

void put(const quant::BlockIQ3_XXS& block, int lane, TileIQ3_XXS& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    put_entries(block.qs + 8 * sub, lane, to.sub[sub].entry);
    const auto word = load_le<std::uint32_t>(block.signs[sub]);
    put_even_signs(word, word >> 28, lane, to.sub[sub].signs);
  }
}
void take(const TileIQ3_XXS& from, int lane, quant::BlockIQ3_XXS& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    take_entries(from.sub[sub].entry, lane, block.qs + 8 * sub);
    const EvenSigns signs = take_even_signs(from.sub[sub].signs, lane);
    store_le(block.signs[sub], signs.sevens | (signs.spare << 28));
  }
}

void put(const quant::BlockIQ2_XXS& block, int lane, TileIQ2_XXS& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    put_entries(block.qs[sub], lane, to.sub[sub].entry);
    const auto word = load_le<std::uint32_t>(block.qs[sub] + 4);
    put_even_signs(word, word >> 28, lane, to.sub[sub].signs);
  }
}
void take(const TileIQ2_XXS& from, int lane, quant::BlockIQ2_XXS& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    take_entries(from.sub[sub].entry, lane, block.qs[sub]);
    const EvenSigns signs = take_even_signs(from.sub[sub].signs, lane);
    store_le(block.qs[sub] + 4, signs.sevens | (signs.spare << 28));
  }
}

void put(const quant::BlockIQ2_XS& block, int lane, TileIQ2_XS& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    std::uint32_t sevens = 0;
    std::uint32_t ninth = 0;
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t q = block.qs[4 * sub + j];
      to.sub[sub].entry[j][lane] = static_cast<std::uint8_t>(q & 0xffu);
      ninth |= ((q >> 8) & 1u) << j;
      sevens |= (q >> 9) << (7 * j);
    }
    put_even_signs(sevens, ninth, lane, to.sub[sub].signs);
    to.sub[sub].scales[lane] = block.scales[sub];
  }
}
void take(const TileIQ2_XS& from, int lane, quant::BlockIQ2_XS& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    const EvenSigns signs = take_even_signs(from.sub[sub].signs, lane);
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t q = from.sub[sub].entry[j][lane] | (((signs.spare >> j) & 1u) << 8) |
                              (((signs.sevens >> (7 * j)) & 0x7fu) << 9);
      block.qs[4 * sub + j] = static_cast<std::uint16_t>(q);
    }
    block.scales[sub] = from.sub[sub].scales[lane];
  }
}

void put(const quant::BlockIQ2_S& block, int lane, TileIQ2_S& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    TileIQ2_S::Sub& part = to.sub[sub];
    put_entries(block.qs + 4 * sub, lane, part.entry);
    store_le(part.signs.lane[lane], to_lane_bits(load_le<std::uint32_t>(block.signs + 4 * sub)));
    part.high[lane] = block.qh[sub];
    part.scales[lane] = block.scales[sub];
  }
}
void take(const TileIQ2_S& from, int lane, quant::BlockIQ2_S& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    const TileIQ2_S::Sub& part = from.sub[sub];
    take_entries(part.entry, lane, block.qs + 4 * sub);
    store_le(block.signs + 4 * sub, from_lane_bits(load_le<std::uint32_t>(part.signs.lane[lane])));
    block.qh[sub] = part.high[lane];
    block.scales[sub] = part.scales[lane];
  }
}

void put(const quant::BlockIQ1_S& block, int lane, TileIQ1_S& to) {
  to.d[lane] = block.d;
  for (int sub = 0; sub < 8; ++sub) {
    put_entries(block.qs + 4 * sub, lane, to.sub[sub].entry);
    to.sub[sub].high[lane] = block.qh[sub];
  }
}
void take(const TileIQ1_S& from, int lane, quant::BlockIQ1_S& block) {
  block.d = from.d[lane];
  for (int sub = 0; sub < 8; ++sub) {
    take_entries(from.sub[sub].entry, lane, block.qs + 4 * sub);
    block.qh[sub] = from.sub[sub].high[lane];
  }
}

void put(const quant::BlockIQ1_M& block, int lane, TileIQ1_M& to) {
  unsigned d = 0;
  for (int w = 0; w < 4; ++w) d |= (block.scales[w] >> 12u) << (4 * w);
  to.d[lane] = static_cast<std::uint16_t>(d);
  for (int sub = 0; sub < 8; ++sub) {
    put_entries(block.qs + 4 * sub, lane, to.sub[sub].entry);
    to.sub[sub].high[lane] = load_le<std::uint16_t>(block.qh + 2 * sub);
    to.sub[sub].scales[lane] = (block.scales[sub / 2] >> (6 * (sub % 2))) & 0x3f;
  }
}
void take(const TileIQ1_M& from, int lane, quant::BlockIQ1_M& block) {
  for (int w = 0; w < 4; ++w) {
    const int d = (from.d[lane] >> (4 * w)) & 15;
    block.scales[w] = static_cast<std::uint16_t>(d << 12);
  }
  for (int sub = 0; sub < 8; ++sub) {
    take_entries(from.sub[sub].entry, lane, block.qs + 4 * sub);
    store_le(block.qh + 2 * sub, from.sub[sub].high[lane]);
    std::uint16_t& scales = block.scales[sub / 2];
    scales = static_cast<std::uint16_t>(scales | (from.sub[sub].scales[lane] << (6 * (sub % 2))));
  }
}

template <class Block, class Tile>
void pack(const std::byte* const* rows, std::byte* to) {
  Tile tile;
  for (int lane = 0; lane < kTileLanes; ++lane) {
    put(rows[lane] != nullptr ? load_le<Block>(rows[lane]) : Block{}, lane, tile);
  }
  store_le(to, tile);
}

template <class Block, class Tile>
void extract(const std::byte* tile_block, int lane, std::byte* to) {
  Block block{};
  take(*reinterpret_cast<const Tile*>(tile_block), lane, block);
  store_le(to, block);
}

template <class Plain, class Tile>
constexpr Interleaver row(DType type) {
  using Block = typename Plain::Block;
  return {.dtype = type,
          .block_elements = kBlockElements * Plain::kSubs,
          .plain_bytes = sizeof(Block),
          .tile_block_bytes = sizeof(Tile),
          .pack = pack<Block, Tile>,
          .extract = extract<Block, Tile>};
}

constexpr Interleaver kInterleavers[] = {
    row<PlainQ2_K, TileQ2_K>(DType::kQ2_K),
    row<PlainQ3_K, TileQ3_K>(DType::kQ3_K),
    row<PlainIQ4_NL, TileIQ4_NL>(DType::kIQ4_NL),
    row<PlainIQ4_XS, TileIQ4_XS>(DType::kIQ4_XS),
    row<PlainMXFP4, TileMXFP4>(DType::kMXFP4),
    row<PlainTQ2_0, TileTQ2_0>(DType::kTQ2_0),
    row<PlainIQ3_S, TileIQ3_S>(DType::kIQ3_S),
    row<PlainIQ3_XXS, TileIQ3_XXS>(DType::kIQ3_XXS),
    row<PlainIQ2_S, TileIQ2_S>(DType::kIQ2_S),
    row<PlainIQ2_XS, TileIQ2_XS>(DType::kIQ2_XS),
    row<PlainIQ2_XXS, TileIQ2_XXS>(DType::kIQ2_XXS),
    row<PlainIQ1_S, TileIQ1_S>(DType::kIQ1_S),
    row<PlainIQ1_M, TileIQ1_M>(DType::kIQ1_M),
};

}  // namespace

std::span<const Interleaver> codes_interleavers() { return kInterleavers; }

}  // namespace minfer::cpu
