// float_product.h: products with plain F32, F16 and BF16 weights over a lanes type V: 16 lanes over
// k (docs/arithmetic.md), 2 weight rows times 2 rows of x at a time. Internal linkage: every file
// makes its own.
//
// Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/rows.h"

namespace minfer::cpu {
namespace {

// A type: Stored, and 16 of them widened.
template <class V>
struct F32 {
  using Stored = float;
  MINFER_INLINE static V widen(const Stored* from) { return V::load(from); }
};
template <class V>
struct F16 {
  using Stored = std::uint16_t;
  MINFER_INLINE static V widen(const Stored* from) { return V::load_f16(from); }
};
template <class V>
struct BF16 {
  using Stored = std::uint16_t;
  MINFER_INLINE static V widen(const Stored* from) { return V::load_bf16(from); }
};

/// 16 products for each of R x C sums.
template <class V, class Type, int R, int C>
MINFER_INLINE void add_step(const typename Type::Stored* const (&w)[R], const float* const (&x)[C],
                            std::int64_t k, V (&acc)[R][C]) {
  V wide[R];
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) wide[r] = Type::widen(w[r] + k);
  MINFER_UNROLL
  for (int c = 0; c < C; ++c) {
    const V values = V::load(x[c] + k);
    MINFER_UNROLL
    for (int r = 0; r < R; ++r) acc[r][c] = V::fma(wide[r], values, acc[r][c]);
  }
}

/// Columns `column`.. of R weight rows times rows `first`.. of x.
template <class V, class Type, int R, int C>
void float_block(const MatMulArgs& args, const std::byte* matrix, std::int64_t column,
                 std::int64_t first) {
  using Stored = typename Type::Stored;
  const std::int64_t n = args.weight->n_cols;
  const std::int64_t row_bytes = args.weight->tile_stride / kTileRows;
  const Stored* w[R];
  const float* x[C];
  V acc[R][C];
  for (int r = 0; r < R; ++r) {
    w[r] = reinterpret_cast<const Stored*>(matrix + (column + r) * row_bytes);
    for (int c = 0; c < C; ++c) acc[r][c] = V::zero();
  }
  for (int c = 0; c < C; ++c) x[c] = x_row<float>(args, first + c);
  std::int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) add_step<V, Type, R, C>(w, x, k, acc);
  if (k < n) {
    Stored w_tail[R][kLanes] = {};
    float x_tail[C][kLanes] = {};
    const Stored* w_padded[R];
    const float* x_padded[C];
    const auto n_tail = static_cast<std::size_t>(n - k);
    for (int r = 0; r < R; ++r) {
      __builtin_memcpy(w_tail[r], w[r] + k, n_tail * sizeof(Stored));
      w_padded[r] = w_tail[r];
    }
    for (int c = 0; c < C; ++c) {
      __builtin_memcpy(x_tail[c], x[c] + k, n_tail * sizeof(float));
      x_padded[c] = x_tail[c];
    }
    add_step<V, Type, R, C>(w_padded, x_padded, 0, acc);
  }
  for (int c = 0; c < C; ++c) {
    float* y = y_row(args, first + c) + column;
    for (int r = 0; r < R; ++r) y[r] = V::sum(acc[r][c]);
  }
}

template <class V, class Type, int C>
void float_columns(const MatMulArgs& args, const std::byte* matrix, std::int64_t begin,
                   std::int64_t end, std::int64_t first) {
  std::int64_t column = begin;
  for (; column + 2 <= end; column += 2) float_block<V, Type, 2, C>(args, matrix, column, first);
  if (column < end) float_block<V, Type, 1, C>(args, matrix, column, first);
}

template <class V, class Type>
void float_product(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const PackedWeight& weight = *args.weight;
  const std::byte* matrix = weight.data + args.matrix * weight.matrix_stride;
  for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::int64_t begin = tile * kTileRows;
    const std::int64_t end = least(begin + kTileRows, weight.n_rows);
    std::int64_t i = 0;
    for (; i + 2 <= args.n_x; i += 2) float_columns<V, Type, 2>(args, matrix, begin, end, i);
    if (i < args.n_x) float_columns<V, Type, 1>(args, matrix, begin, end, i);
  }
}

}  // namespace
}  // namespace minfer::cpu
