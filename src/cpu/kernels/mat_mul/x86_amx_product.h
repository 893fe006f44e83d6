// x86_amx_product.h: products of interleaved tiles with many Q8A rows over a unit U of tile
// instructions (x86_amx_unit.h) and a vector policy V of 16 lanes. For the files x86_amx*.cc and
// tests alone; internal linkage.
//
// 16 rows of x meet 16 weight rows: the left operand is x as it lies in memory, a half of 16
// elements a tile, since each half has a scale of its own; the right one is 4 steps of a panel
// (dot_product.h), made signed. The sums come back through memory, and the floats take the same
// steps as everywhere.
// Thread-safety: pure functions, but for the tile registers of the calling thread.
#pragma once

#include "cpu/kernels/mat_mul/dot_product.h"
#include "cpu/kernels/mat_mul/x86_amx_config.h"

namespace minfer::cpu {
namespace {

constexpr int kAmxRows = 16;  // rows of x, and weight rows, that meet at a time

/// Tiles 0 and 1: the halves of x. 2 and 3: those of the weights. 4 and 5: sums.
constexpr AmxConfig kAmxConfig = {
    .palette = 1,
    .start_row = 0,
    .reserved = {},
    .row_bytes = {kHalfElements, kHalfElements, 4 * kAmxRows, 4 * kAmxRows, 4 * kAmxRows,
                  4 * kAmxRows},
    .rows = {kAmxRows, kAmxRows, kHalfElements / 4, kHalfElements / 4, kAmxRows, kAmxRows}};

/// 16 rows of Q8A blocks at one distance from each other, of which n_rows exist.
struct AmxRows {
  const std::byte* data;
  std::int64_t stride;
  std::int64_t first;  // row of args
  std::int64_t n_rows;
};

/// The sums of one block: [half][row of x][weight row].
struct alignas(64) AmxSums {
  std::int32_t of[2][kAmxRows][kAmxRows];
};

template <class U, class V>
MINFER_INLINE void amx_sums(const PanelBlock<V>& weights, const std::byte* x, std::int64_t stride,
                            AmxSums& sums) {
  const auto* block = reinterpret_cast<const Q8ABlock*>(x);
  constexpr std::int64_t kStep = 4 * kAmxRows;
  U::template load<0>(block->q, stride);
  U::template load<1>(block->q + kHalfElements, stride);
  U::template load<2>(&weights.code[0], kStep);
  U::template load<3>(&weights.code[4], kStep);
  U::template zero<4>();
  U::template zero<5>();
  U::template dot<4, 0, 2>();
  U::template dot<5, 1, 3>();
  U::template store<4>(sums.of[0], kStep);
  U::template store<5>(sums.of[1], kStep);
}

/// Adds one block to the accumulators of 16 rows.
template <class V, Offset kOffset>
MINFER_INLINE void add_amx_block(const PanelBlock<V>& block, const AmxRows& x, std::int64_t at,
                                 const AmxSums& sums, typename V::Float (&acc)[kAmxRows]) {
  const PanelWeights<V> w = {&block};
  MINFER_UNROLL
  for (int r = 0; r < kAmxRows; ++r) {
    const Q8ABlock& a = *reinterpret_cast<const Q8ABlock*>(x.data + r * x.stride + at);
    MINFER_UNROLL
    for (int h = 0; h < 2; ++h) {
      auto dots = V::load(sums.of[h][r], kTileLanes * 4);
      if constexpr (kOffset == Offset::kMinus32x2) dots = V::mul_lanes(dots, w.sub_scale(h));
      const auto d = V::mul(w.scale(), V::broadcast(&a.d[h]));
      acc[r] = V::fma(V::to_floats(dots), d, acc[r]);
    }
    if constexpr (has_min(kOffset)) acc[r] = V::fma(w.min(), V::broadcast(&a.s), acc[r]);
  }
}

/// One vector of weights times 16 rows. x starts at the panel's first block.
template <class U, class V, Offset kOffset>
void amx_group(const MatMulArgs& args, const Panel<V>& panel, const AmxRows& x) {
  typename V::Float acc[kAmxRows];
  float* y[kAmxRows];
  MINFER_UNROLL
  for (int r = 0; r < kAmxRows; ++r) {
    const bool exists = r < x.n_rows;
    y[r] = y_row(args, x.first + (exists ? r : 0)) + panel.column;
    acc[r] = panel.first_block == 0 || !exists ? V::zero_floats()
                                               : V::load_floats(y[r], panel.n_columns);
  }
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < panel.n_blocks; ++b) {
    AmxSums sums;
    amx_sums<U>(panel.blocks[b], x.data + at, x.stride, sums);
    add_amx_block<V, kOffset>(panel.blocks[b], x, at, sums, acc);
    at += static_cast<std::int64_t>(sizeof(Q8ABlock));
  }
  MINFER_UNROLL
  for (int r = 0; r < kAmxRows; ++r) {
    if (r < x.n_rows) V::store(y[r], acc[r], panel.n_columns);
  }
}

/// A copy of rows that are fewer than 16 or lie anywhere.
template <class V>
struct AmxRowsCopy {
  Q8ABlock block[kAmxRows][kPanelBlocks<V>];
};

template <class V>
AmxRows rows_of(const MatMulArgs& args, const Panel<V>& panel, std::int64_t first, std::int64_t end,
                AmxRowsCopy<V>& copy) {
  const std::int64_t n_rows = least(kAmxRows, end - first);
  const auto at = panel.first_block * static_cast<std::int64_t>(sizeof(Q8ABlock));
  if (args.x_rows == nullptr && n_rows == kAmxRows) {
    return {x_row<std::byte>(args, first) + at, args.x_stride, first, n_rows};
  }
  const auto size = static_cast<std::size_t>(panel.n_blocks) * sizeof(Q8ABlock);
  for (std::int64_t r = 0; r < kAmxRows; ++r) {
    // Lanes that nobody reads get numbers all the same.
    const std::int64_t row = first + (r < n_rows ? r : 0);
    __builtin_memcpy(copy.block[r], x_row<std::byte>(args, row) + at, size);
  }
  return {reinterpret_cast<const std::byte*>(copy.block), sizeof(copy.block[0]), first, n_rows};
}

/// Panel after panel of the tiles [tile, tile_end), one vector of them, past the rows [begin, end).
template <class U, class V, class Type>
void amx_tiles(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile,
               std::int64_t tile_end, std::int64_t begin, std::int64_t end) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t n_blocks = weight.n_cols / kBlockElements;
  PanelBlock<V> blocks[kPanelBlocks<V>];
  AmxRowsCopy<V> copy;
  for (std::int64_t first = 0; first < n_blocks; first += kPanelBlocks<V>) {
    const Panel<V> panel = {.blocks = blocks,
                            .first_block = first,
                            .n_blocks = least(kPanelBlocks<V>, n_blocks - first),
                            .column = tile * kTileRows,
                            .n_columns = columns_from(args, tile, tile_end)};
    unpack<V, Type>(matrix + tile * weight.tile_stride,
                    tile + 1 < tile_end ? weight.tile_stride : 0, first, panel.n_blocks, blocks);
    for (std::int64_t b = 0; b < panel.n_blocks; ++b) {
      for (auto& code : blocks[b].code) code = V::add_bytes(code, -taken_off(Type::kOffset));
    }
    for (std::int64_t i = begin; i < end; i += kAmxRows) {
      amx_group<U, V, Type::kOffset>(args, panel, rows_of<V>(args, panel, i, end, copy));
    }
  }
}

template <class U, class V, class Type>
void amx_panels(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  static_assert(V::kTiles * kTileRows == kAmxRows);
  const std::byte* matrix = args.weight->data + args.matrix * args.weight->matrix_stride;
  const std::int64_t row_bytes =
      args.weight->n_cols / kBlockElements * static_cast<std::int64_t>(sizeof(Q8ABlock));
  const std::int64_t rows = (kCacheBytes / row_bytes / kAmxRows + 1) * kAmxRows;
  U::configure(kAmxConfig);
  for (std::int64_t begin = 0; begin < args.n_x; begin += rows) {
    const std::int64_t end = least(args.n_x, begin + rows);
    for (std::int64_t tile = tile_begin; tile < tile_end; tile += V::kTiles) {
      amx_tiles<U, V, Type>(args, matrix, tile, least(tile + V::kTiles, tile_end), begin, end);
    }
  }
  U::release();
}

}  // namespace
}  // namespace minfer::cpu
