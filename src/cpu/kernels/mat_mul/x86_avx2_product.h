// x86_avx2_product.h: products of interleaved tiles with Q8A rows in AVX2, FMA and F16C, over the
// types of x86_avx2_types.h. For the files x86_avx2*.cc alone; internal linkage.
//
// Few rows of x: each tile is read once from memory and unpacked in registers ("fused"). Many: two
// tiles are unpacked into a panel in the L1 cache, and the rows stream past it.
// Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/rows.h"
#include "cpu/kernels/mat_mul/x86_avx2_block.h"

namespace minfer::cpu {
namespace {

constexpr std::int64_t kMostFusedRows = 3;     // beyond, a panel pays
constexpr std::int64_t kPrefetchBytes = 8192;  // how far ahead memory is asked for weights
constexpr std::int64_t kPanelBlocks = 32;
constexpr std::int64_t kCacheBytes = 512 * 1024;  // of x that should stay in the L2 cache

/// The first n_lanes floats of `value`: a tile may reach past the last row.
MINFER_INLINE void store_lanes(float* to, __m256 value, std::int64_t n_lanes) {
  if (n_lanes >= kTileRows) {
    _mm256_storeu_ps(to, value);
    return;
  }
  alignas(32) float lanes[kTileRows];
  _mm256_store_ps(lanes, value);
  for (std::int64_t i = 0; i < n_lanes; ++i) to[i] = lanes[i];
}
MINFER_INLINE __m256 load_lanes(const float* from, std::int64_t n_lanes) {
  if (n_lanes >= kTileRows) return _mm256_loadu_ps(from);
  alignas(32) float lanes[kTileRows] = {};
  for (std::int64_t i = 0; i < n_lanes; ++i) lanes[i] = from[i];
  return _mm256_load_ps(lanes);
}

/// Asks for what lies kPrefetchBytes after `part`, in the order of memory.
template <class Part>
MINFER_INLINE void prefetch_ahead(const Part& part) {
  const char* ahead = reinterpret_cast<const char*>(&part) + kPrefetchBytes;
  MINFER_UNROLL
  for (std::size_t line = 0; line < (sizeof(Part) + 63) / 64; ++line) {
    _mm_prefetch(ahead + 64 * line, _MM_HINT_T0);
  }
}

template <class Type>
struct FusedWeights {
  const typename Type::Tile* tile;
  const typename Type::Sub* part;
  MINFER_INLINE __m256i codes(int s) const { return Type::codes(*part, s); }
  MINFER_INLINE __m256 scale() const { return Type::scale(*tile, *part); }
  MINFER_INLINE __m256 min() const { return Type::min(*tile, *part); }
  MINFER_INLINE __m256i sub_scale(int half) const { return Type::sub_scale(*part, half); }
  MINFER_INLINE __m256i sub_min(int half) const { return Type::sub_min(*part, half); }
  MINFER_INLINE __m256 min_unit() const { return Type::min_unit(*tile); }
};

/// One tile times all C rows of x.
template <class Type, int C>
void fused_tile(const MatMulArgs& args, const std::byte* data, std::int64_t tile_index) {
  const std::int64_t n_blocks = args.weight->n_cols / (kBlockElements * Type::kSubs);
  const auto* tile = reinterpret_cast<const typename Type::Tile*>(data);
  const Q8ABlock* a[C];
  for (int c = 0; c < C; ++c) a[c] = x_row<Q8ABlock>(args, c);
  __m256 acc[1][C];
  for (int c = 0; c < C; ++c) acc[0][c] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < n_blocks; ++b, ++tile) {
    for (int j = 0; j < Type::kSubs; ++j) {
      const FusedWeights<Type> weights[1] = {{tile, &Type::sub(*tile, j)}};
      prefetch_ahead(*weights[0].part);
      add_block<Type::kSums>(weights, a, acc);
      for (int c = 0; c < C; ++c) ++a[c];
    }
  }
  const std::int64_t column = tile_index * kTileRows;
  for (int c = 0; c < C; ++c) {
    store_lanes(y_row(args, c) + column, acc[0][c], args.weight->n_rows - column);
  }
}

template <class Type>
void fused(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile_begin,
           std::int64_t tile_end) {
  for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::byte* data = matrix + tile * args.weight->tile_stride;
    if (args.n_x == 3) fused_tile<Type, 3>(args, data, tile);
    if (args.n_x == 2) fused_tile<Type, 2>(args, data, tile);
    if (args.n_x == 1) fused_tile<Type, 1>(args, data, tile);
  }
}

/// 32 elements of 8 rows, unpacked.
struct PanelBlock {
  __m256i code[8];
  __m256 d;
  union {
    __m256 m;
    __m256i sub_scales[2];
    struct {
      __m256i scales_mins;  // packed
      __m256 min_unit;
    } q2_k;
  };
};

template <Sums kSums>
struct PanelWeights {
  const PanelBlock* block;
  MINFER_INLINE __m256i codes(int s) const { return block->code[s]; }
  MINFER_INLINE __m256 scale() const { return block->d; }
  MINFER_INLINE __m256 min() const { return block->m; }
  MINFER_INLINE __m256i sub_scale(int half) const {
    if constexpr (kSums == Sums::kTwoScalesMins) return pair_of(block->q2_k.scales_mins, half);
    return block->sub_scales[half];
  }
  MINFER_INLINE __m256i sub_min(int half) const {
    return pair_of(block->q2_k.scales_mins, half + 2);
  }
  MINFER_INLINE __m256 min_unit() const { return block->q2_k.min_unit; }
};

template <class Type>
void unpack(const std::byte* data, std::int64_t first, std::int64_t n, PanelBlock* to) {
  const auto* tiles = reinterpret_cast<const typename Type::Tile*>(data);
  for (std::int64_t b = first; b < first + n; ++b, ++to) {
    const auto& tile = tiles[b / Type::kSubs];
    const auto& sub = Type::sub(tile, static_cast<int>(b % Type::kSubs));
    prefetch_ahead(sub);
    MINFER_UNROLL
    for (int s = 0; s < 8; ++s) to->code[s] = Type::codes(sub, s);
    to->d = Type::scale(tile, sub);
    if constexpr (has_min(Type::kSums)) to->m = Type::min(tile, sub);
    if constexpr (Type::kSums == Sums::kTwoScalesMins) {
      to->q2_k.scales_mins = Type::scales_mins(sub);
      to->q2_k.min_unit = Type::min_unit(tile);
    }
    if constexpr (has_sub_scales(Type::kSums)) {
      to->sub_scales[0] = Type::sub_scale(sub, 0);
      to->sub_scales[1] = Type::sub_scale(sub, 1);
    }
  }
}

constexpr int kPanelTiles = 2;

/// One or two unpacked tiles, tile t from blocks[t * kPanelBlocks], and where they stand: blocks
/// [first_block, first_block + n_blocks) of the columns from `column`, of which n_columns exist.
struct Panel {
  const PanelBlock* blocks;
  std::int64_t first_block;
  std::int64_t n_blocks;
  std::int64_t column;
  std::int64_t n_columns;
};

template <Sums kSums, int T, int C>
void panel_rows(const MatMulArgs& args, const Panel& panel, std::int64_t first) {
  const Q8ABlock* a[C];
  float* y[C];
  for (int c = 0; c < C; ++c) {
    a[c] = x_row<Q8ABlock>(args, first + c) + panel.first_block;
    y[c] = y_row(args, first + c) + panel.column;
  }
  __m256 acc[T][C];
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const std::int64_t lanes = panel.n_columns - t * kTileRows;
      acc[t][c] =
          panel.first_block == 0 ? _mm256_setzero_ps() : load_lanes(y[c] + t * kTileRows, lanes);
    }
  }
  for (std::int64_t b = 0; b < panel.n_blocks; ++b) {
    PanelWeights<kSums> weights[T];
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) weights[t].block = panel.blocks + t * kPanelBlocks + b;
    add_block<kSums>(weights, a, acc);
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) ++a[c];
  }
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      store_lanes(y[c] + t * kTileRows, acc[t][c], panel.n_columns - t * kTileRows);
    }
  }
}

/// Rows [begin, end) of x, as many at a time as T tiles leave registers for: T * C sums, as many
/// accumulators, T codes, the activations and a vector of ones make 16.
template <Sums kSums, int T>
void panel_range(const MatMulArgs& args, const Panel& panel, std::int64_t begin, std::int64_t end) {
  constexpr int C = T == 2 ? 3 : 6;
  std::int64_t i = begin;
  for (; i + C <= end; i += C) panel_rows<kSums, T, C>(args, panel, i);
  for (; i + 2 <= end; i += 2) panel_rows<kSums, T, 2>(args, panel, i);
  if (i < end) panel_rows<kSums, T, 1>(args, panel, i);
}

/// Rows [begin, end) of x times the tiles from `tile`, kPanelTiles of them or one.
template <class Type>
void panel_tiles(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile, int n_tiles,
                 std::int64_t begin, std::int64_t end) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t n_blocks = weight.n_cols / kBlockElements;
  const std::int64_t n_chunks = (n_blocks + kPanelBlocks - 1) / kPanelBlocks;
  const std::int64_t chunk = (n_blocks + n_chunks - 1) / n_chunks;
  PanelBlock blocks[kPanelTiles * kPanelBlocks];
  for (std::int64_t first = 0; first < n_blocks; first += chunk) {
    const Panel panel = {.blocks = blocks,
                         .first_block = first,
                         .n_blocks = least(chunk, n_blocks - first),
                         .column = tile * kTileRows,
                         .n_columns = weight.n_rows - tile * kTileRows};
    for (int t = 0; t < n_tiles; ++t) {
      unpack<Type>(matrix + (tile + t) * weight.tile_stride, first, panel.n_blocks,
                   blocks + t * kPanelBlocks);
    }
    if (n_tiles == kPanelTiles) {
      panel_range<Type::kSums, kPanelTiles>(args, panel, begin, end);
    } else {
      panel_range<Type::kSums, 1>(args, panel, begin, end);
    }
  }
}

template <class Type>
void panels(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile_begin,
            std::int64_t tile_end) {
  constexpr std::int64_t kWholeRows = 6;  // a multiple of what panel_range takes at a time
  const std::int64_t row_bytes =
      args.weight->n_cols / kBlockElements * static_cast<std::int64_t>(sizeof(Q8ABlock));
  const std::int64_t rows = (kCacheBytes / row_bytes / kWholeRows + 1) * kWholeRows;
  for (std::int64_t begin = 0; begin < args.n_x; begin += rows) {
    const std::int64_t end = least(args.n_x, begin + rows);
    std::int64_t tile = tile_begin;
    for (; tile + kPanelTiles <= tile_end; tile += kPanelTiles) {
      panel_tiles<Type>(args, matrix, tile, kPanelTiles, begin, end);
    }
    if (tile < tile_end) panel_tiles<Type>(args, matrix, tile, 1, begin, end);
  }
}

template <class Type>
void mat_mul(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const std::byte* matrix = args.weight->data + args.matrix * args.weight->matrix_stride;
  if (args.n_x <= kMostFusedRows) {
    fused<Type>(args, matrix, tile_begin, tile_end);
  } else {
    panels<Type>(args, matrix, tile_begin, tile_end);
  }
}

}  // namespace
}  // namespace minfer::cpu
