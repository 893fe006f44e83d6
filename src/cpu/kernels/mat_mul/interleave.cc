#include "cpu/kernels/mat_mul/interleave.h"

#include <cstring>
#include <type_traits>

#include "cpu/kernels/mat_mul/interleave_parts.h"
#include "cpu/kernels/mat_mul/layout.h"
#include "cpu/kernels/mat_mul/plain.h"

namespace minfer::cpu {
namespace {

void put(const Steps& steps, int lane, TileNibbles& to) {
  for (int u = 0; u < 4; ++u) {
    store_le(to.word[u][lane], (steps[u] & kLow4) | ((steps[u + 4] & kLow4) << 4));
  }
}
void take(const TileNibbles& from, int lane, Steps& steps) {
  for (int u = 0; u < 4; ++u) {
    const auto word = load_le<std::uint32_t>(from.word[u][lane]);
    steps[u] = word & kLow4;
    steps[u + 4] = (word >> 4) & kLow4;
  }
}
void put(const Steps& steps, int lane, TileFifthBits& to) {
  std::uint32_t word = 0;
  for (int s = 0; s < 8; ++s) word |= ((steps[s] >> 4) & kLow1) << s;
  store_le(to.lane[lane], word);
}
void take(const TileFifthBits& from, int lane, Steps& steps) {
  const auto word = load_le<std::uint32_t>(from.lane[lane]);
  for (int s = 0; s < 8; ++s) steps[s] |= ((word >> s) & kLow1) << 4;
}
void put(const Steps& steps, int lane, TileTopBits& to) {
  for (int half = 0; half < 2; ++half) {
    std::uint32_t word = 0;
    for (int u = 0; u < 4; ++u) word |= ((steps[4 * half + u] >> 4) & kLow2) << (2 * u);
    store_le(to.half[half][lane], word);
  }
}
void take(const TileTopBits& from, int lane, Steps& steps) {
  for (int s = 0; s < 8; ++s) {
    const auto word = load_le<std::uint32_t>(from.half[s / 4][lane]);
    steps[s] |= ((word >> (2 * (s % 4))) & kLow2) << 4;
  }
}

/// The codes of one sub-block, in every part of `to` that holds some.
template <class Part>
void put_codes(const Steps& steps, int lane, Part& to) {
  put(steps, lane, to.low);
  if constexpr (requires { to.high; }) put(steps, lane, to.high);
}
template <class Part>
void take_codes(const Part& from, int lane, Steps& steps) {
  take(from.low, lane, steps);
  if constexpr (requires { from.high; }) take(from.high, lane, steps);
}

// One sub-block a block: codes of 8 bits, or of 4 in the tile's own order with a fifth beside them.
template <class Plain, class Tile>
  requires(Plain::kSubs == 1)
void put_block(const typename Plain::Block& block, int lane, Tile& to) {
  if constexpr (requires { to.low; }) {
    put_nibbles(block.qs, lane, to.low);
    if constexpr (requires { to.high; }) {
      store_le(to.high.lane[lane], to_lane_bits(load_le<std::uint32_t>(block.qh)));
    }
  } else {
    for (int s = 0; s < 8; ++s) {
      store_le(to.q[s][lane], load_le<std::uint32_t>(block.qs + 4 * s));
    }
  }
  to.d[lane] = block.d;
  if constexpr (Plain::kHasMin) to.m[lane] = block.m;
}
template <class Plain, class Tile>
  requires(Plain::kSubs == 1)
void take_block(const Tile& from, int lane, typename Plain::Block& block) {
  if constexpr (requires { from.low; }) {
    take_nibbles(from.low, lane, block.qs);
    if constexpr (requires { from.high; }) {
      store_le(block.qh, from_lane_bits(load_le<std::uint32_t>(from.high.lane[lane])));
    }
  } else {
    for (int s = 0; s < 8; ++s) {
      store_le(block.qs + 4 * s, load_le<std::uint32_t>(from.q[s][lane]));
    }
  }
  block.d = from.d[lane];
  if constexpr (Plain::kHasMin) block.m = from.m[lane];
}

template <class Plain, class Tile>
  requires(Plain::kSubs == 8)
void put_block(const typename Plain::Block& block, int lane, Tile& to) {
  for (int sub = 0; sub < Plain::kSubs; ++sub) {
    Steps steps;
    Plain::load(block, sub, steps);
    put_codes(steps, lane, to.sub[sub]);
  }
  to.d[lane] = block.d;
  if constexpr (Plain::kHasMin) {
    to.dmin[lane] = block.dmin;
    const quant::KScales scales = quant::unpack_k_scales(block.scales);
    for (int sub = 0; sub < Plain::kSubs; ++sub) {
      to.sub[sub].scale[lane] = scales.scale[sub];
      to.sub[sub].min[lane] = scales.min[sub];
    }
  } else {
    for (int i = 0; i < 16; ++i) to.sub[i / 2].scale[i % 2][lane] = block.scales[i];
  }
}
template <class Plain, class Tile>
  requires(Plain::kSubs == 8)
void take_block(const Tile& from, int lane, typename Plain::Block& block) {
  for (int sub = 0; sub < Plain::kSubs; ++sub) {
    Steps steps;
    take_codes(from.sub[sub], lane, steps);
    Plain::store(steps, sub, block);
  }
  block.d = from.d[lane];
  if constexpr (Plain::kHasMin) {
    block.dmin = from.dmin[lane];
    quant::KScales scales{};
    for (int sub = 0; sub < Plain::kSubs; ++sub) {
      scales.scale[sub] = from.sub[sub].scale[lane];
      scales.min[sub] = from.sub[sub].min[lane];
    }
    quant::pack_k_scales(scales, block.scales);
  } else {
    for (int i = 0; i < 16; ++i) block.scales[i] = from.sub[i / 2].scale[i % 2][lane];
  }
}

template <class Plain, class Tile>
void pack(const std::byte* const* rows, std::byte* to) {
  using Block = typename Plain::Block;
  Tile tile;
  for (int lane = 0; lane < kTileLanes; ++lane) {
    const Block block = rows[lane] != nullptr ? load_le<Block>(rows[lane]) : Block{};
    put_block<Plain>(block, lane, tile);
  }
  store_le(to, tile);
}

template <class Plain, class Tile>
void extract(const std::byte* tile_block, int lane, std::byte* to) {
  const auto* tile = reinterpret_cast<const Tile*>(tile_block);
  typename Plain::Block block{};
  take_block<Plain>(*tile, lane, block);
  store_le(to, block);
}

template <class Plain, class Tile>
constexpr Interleaver row(DType type) {
  return {.dtype = type,
          .block_elements = kBlockElements * Plain::kSubs,
          .plain_bytes = sizeof(typename Plain::Block),
          .tile_block_bytes = sizeof(Tile),
          .pack = pack<Plain, Tile>,
          .extract = extract<Plain, Tile>};
}

constexpr Interleaver kInterleavers[] = {
    row<PlainQ4_0, TileQ4_0>(DType::kQ4_0), row<PlainQ4_1, TileQ4_1>(DType::kQ4_1),
    row<PlainQ5_0, TileQ5_0>(DType::kQ5_0), row<PlainQ5_1, TileQ5_1>(DType::kQ5_1),
    row<PlainQ8_0, TileQ8_0>(DType::kQ8_0), row<PlainQ4_K, TileQ4_K>(DType::kQ4_K),
    row<PlainQ5_K, TileQ5_K>(DType::kQ5_K), row<PlainQ6_K, TileQ6_K>(DType::kQ6_K),
};

}  // namespace

const Interleaver* interleaver(DType type) {
  for (const Interleaver& row : kInterleavers) {
    if (row.dtype == type) return &row;
  }
  for (const Interleaver& row : codes_interleavers()) {
    if (row.dtype == type) return &row;
  }
  return nullptr;
}

}  // namespace minfer::cpu
