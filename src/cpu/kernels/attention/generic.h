// Attention over any lanes type; internal linkage, one copy an instruction set.
//
// Rows are taken in tiles of up to V::kTileRows, which share every load of K and V. A row's own
// steps are the same in every tile, so its bits do not depend on its neighbours.
#pragma once

#include <cstdint>

#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/math/functions.h"

namespace minfer::cpu {
namespace {

inline constexpr int kPagePositions = 64;

/// A page's elements as lanes, whatever it keeps.
template <class V>
V load_lanes(const float* p) {
  return V::load(p);
}
template <class V>
V load_lanes(const std::uint16_t* p) {
  return V::load_f16(p);
}
/// K [head_dim][64] and V [64][v_stride] of a page.
template <class T>
struct PageView {
  const T* k;
  const T* v;
};

/// A page as it lies in memory is read from end to end: what comes later is asked for now, line by
/// line, while there is something to compute. A widened one is in the cache already.
inline void prefetch_ahead(const std::uint16_t* p) {
  constexpr std::ptrdiff_t kAheadBytes = 8192;
  __builtin_prefetch(reinterpret_cast<const char*>(p) + kAheadBytes);
}
inline void prefetch_ahead(const float* /*p*/) {}

/// Positions that a tile of rows has between them, and those that all of its rows have.
struct TileRange {
  int outer_begin = kPagePositions, outer_end = 0;
  int inner_begin = 0, inner_end = kPagePositions;
};

inline TileRange tile_range(const AttentionPiece& a, int row, int n) {
  TileRange t;
  for (int r = row; r < row + n; ++r) {
    if (a.begin[r] < t.outer_begin) t.outer_begin = a.begin[r];
    if (a.end[r] > t.outer_end) t.outer_end = a.end[r];
    if (a.begin[r] > t.inner_begin) t.inner_begin = a.begin[r];
    if (a.end[r] < t.inner_end) t.inner_end = a.end[r];
  }
  return t;
}

/// Scores of R rows at 16 * N positions from `first` on, to p.
template <class V, int R, int N, class T>
void score_tile(const AttentionPiece& a, const T* k, int row, int first) {
  V acc[R][N];
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) {
    MINFER_UNROLL
    for (int n = 0; n < N; ++n) acc[r][n] = V::zero();
  }
  const float* q = a.q + static_cast<std::int64_t>(row) * a.head_dim;
  k += first;
  for (int d = 0; d < a.head_dim; ++d, k += kPagePositions) {
    prefetch_ahead(k);
    V keys[N];
    MINFER_UNROLL
    for (int n = 0; n < N; ++n) keys[n] = load_lanes<V>(k + n * kLanes);
    MINFER_UNROLL
    for (int r = 0; r < R; ++r) {
      const V x = V::set1(q[r * a.head_dim + d]);
      MINFER_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = V::fma(x, keys[n], acc[r][n]);
    }
  }
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) {
    MINFER_UNROLL
    for (int n = 0; n < N; ++n) {
      acc[r][n].store(a.p + (row + r) * kPagePositions + first + n * kLanes);
    }
  }
}

/// p of one row: exp(score - m) inside the bounds, +0 outside; m and l.
template <class V>
void softmax_row(const AttentionPiece& a, int row) {
  float* p = a.p + row * kPagePositions;
  const int begin = a.begin[row];
  const int end = a.end[row];
  const V lowest = V::set1(-__builtin_inff());
  V largest = lowest;
  for (int j = begin & ~(kLanes - 1); j < end; j += kLanes) {
    const int from = begin > j ? begin - j : 0;
    const int to = end < j + kLanes ? end - j : kLanes;
    largest = V::max(V::keep_range(V::load(p + j), from, to, lowest), largest);
  }
  a.m[row] = V::largest(largest);
  const V m = V::set1(a.m[row]);
  V sum = V::zero();
  for (int j = 0; j < kPagePositions; j += kLanes) {
    if (j + kLanes <= begin || j >= end) continue;
    const int from = begin > j ? begin - j : 0;
    const int to = end < j + kLanes ? end - j : kLanes;
    const V e = V::keep_range(exp_lanes(V::sub(V::load(p + j), m)), from, to, V::zero());
    e.store(p + j);
    sum = V::add(sum, e);
  }
  a.l[row] = V::sum(sum);
}

/// o += p v over positions [begin, end), for R rows and 16 * N elements from `first` on.
template <class V, int R, int N, class T>
void value_tile(const AttentionPiece& a, const T* v, int row, int first, int begin, int end) {
  float* o = a.o + static_cast<std::int64_t>(row) * a.v_stride + first;
  const float* p = a.p + row * kPagePositions;
  V acc[R][N];
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) {
    MINFER_UNROLL
    for (int n = 0; n < N; ++n) acc[r][n] = V::load(o + r * a.v_stride + n * kLanes);
  }
  v += static_cast<std::int64_t>(begin) * a.v_stride + first;
  for (int j = begin; j < end; ++j, v += a.v_stride) {
    prefetch_ahead(v);
    V values[N];
    MINFER_UNROLL
    for (int n = 0; n < N; ++n) values[n] = load_lanes<V>(v + n * kLanes);
    MINFER_UNROLL
    for (int r = 0; r < R; ++r) {
      const V x = V::set1(p[r * kPagePositions + j]);
      MINFER_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = V::fma(x, values[n], acc[r][n]);
    }
  }
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) {
    MINFER_UNROLL
    for (int n = 0; n < N; ++n) acc[r][n].store(o + r * a.v_stride + n * kLanes);
  }
}

template <class V, int R, int N, class T>
void values(const AttentionPiece& a, const T* v, int row, int begin, int end) {
  if (begin >= end) return;
  int d = 0;
  for (; d + N * kLanes <= a.v_stride; d += N * kLanes)
    value_tile<V, R, N>(a, v, row, d, begin, end);
  for (; d < a.v_stride; d += kLanes) value_tile<V, R, 1>(a, v, row, d, begin, end);
}

template <class V, int R, int N, class T>
void piece_tile(const AttentionPiece& a, const PageView<T>& page, int row) {
  const TileRange t = tile_range(a, row, R);
  if (t.outer_begin >= t.outer_end) return;
  int j = t.outer_begin & ~(kLanes - 1);
  for (; j + N * kLanes <= kPagePositions && j + (N - 1) * kLanes < t.outer_end; j += N * kLanes) {
    score_tile<V, R, N>(a, page.k, row, j);
  }
  for (; j < t.outer_end; j += kLanes) score_tile<V, R, 1>(a, page.k, row, j);
  for (int r = row; r < row + R; ++r) {
    if (a.begin[r] < a.end[r]) softmax_row<V>(a, r);
    float* o = a.o + static_cast<std::int64_t>(r) * a.v_stride;
    for (int d = 0; d < a.v_stride; d += kLanes) V::zero().store(o + d);
  }
  // Every row walks its positions in order: those before the common ones, the common ones, the
  // rest.
  if (t.inner_begin >= t.inner_end) {
    for (int r = row; r < row + R; ++r) values<V, 1, 4>(a, page.v, r, a.begin[r], a.end[r]);
    return;
  }
  for (int r = row; r < row + R; ++r) values<V, 1, 4>(a, page.v, r, a.begin[r], t.inner_begin);
  values<V, R, N>(a, page.v, row, t.inner_begin, t.inner_end);
  for (int r = row; r < row + R; ++r) values<V, 1, 4>(a, page.v, r, t.inner_end, a.end[r]);
}

/// Rows of the next tile when `left` are left: as few and as even tiles as the registers allow.
template <class V>
int tile_rows(int left) {
  if (left <= V::kTileRows) return left;
  return left < 2 * V::kTileRows ? (left + 1) / 2 : V::kTileRows;
}

/// Vectors that R rows take side by side: R * n sums, n keys and a query stay in registers.
template <class V, int R>
constexpr int tile_vectors() {
  if (R == 1 || (R + 1) * 4 <= V::kTileRegisters) return 4;
  return (R + 1) * 2 <= V::kTileRegisters ? 2 : 1;
}

template <class V, int R, class T>
void rows_tile(const AttentionPiece& a, const PageView<T>& page, int row, int n_rows) {
  if (n_rows == R) return piece_tile<V, R, tile_vectors<V, R>()>(a, page, row);
  if constexpr (R > 1) rows_tile<V, R - 1>(a, page, row, n_rows);
}

template <class V, class T>
void all_rows(const AttentionPiece& a, const PageView<T>& page) {
  for (int row = 0; row < a.n_rows;) {
    const int n = tile_rows<V>(a.n_rows - row);
    rows_tile<V, V::kTileRows>(a, page, row, n);
    row += n;
  }
}

template <class V>
void attention_piece(const AttentionPiece& a) {
  if (a.k_f16 != nullptr) return all_rows<V>(a, PageView<std::uint16_t>{a.k_f16, a.v_f16});
  all_rows<V>(a, PageView<float>{a.k, a.v});
}

/// Row `row` of the merge, with the factors of what was there and of what comes.
template <class V>
void merge_row(const AttentionMerge& args, int row, float old_factor, float new_factor) {
  const float* o = args.o + static_cast<std::int64_t>(row) * args.stride;
  float* big_o = args.big_o + static_cast<std::int64_t>(row) * args.stride;
  const V a = V::set1(old_factor);
  const V b = V::set1(new_factor);
  for (std::int32_t d = 0; d < args.stride; d += kLanes) {
    V::fma(V::load(big_o + d), a, V::mul(V::load(o + d), b)).store(big_o + d);
  }
}

/// Rows are lanes as far as m and l go.
template <class V>
void attention_merge(const AttentionMerge& args) {
  for (int first = 0; first < args.n_rows; first += kLanes) {
    const int n = args.n_rows - first < kLanes ? args.n_rows - first : kLanes;
    const auto load = [&](const float* p) {
      return n == kLanes ? V::load(p + first) : V::load_n(p + first, n);
    };
    const V m = load(args.m);
    const V big_m = load(args.big_m);
    const V m_new = V::max(big_m, m);
    const V a = exp_lanes(V::sub(big_m, m_new));
    const V b = exp_lanes(V::sub(m, m_new));
    float old_factor[kLanes], new_factor[kLanes], maxima[kLanes], sums[kLanes];
    a.store(old_factor);
    b.store(new_factor);
    m_new.store(maxima);
    V::fma(load(args.big_l), a, V::mul(load(args.l), b)).store(sums);
    for (int i = 0; i < n; ++i) {
      const int row = first + i;
      if (args.begin[row] == args.end[row]) continue;
      if (args.big_l[row] == kNoPiece) {
        const std::int64_t at = static_cast<std::int64_t>(row) * args.stride;
        for (std::int32_t d = 0; d < args.stride; d += kLanes) {
          V::load(args.o + at + d).store(args.big_o + at + d);
        }
        args.big_m[row] = args.m[row];
        args.big_l[row] = args.l[row];
        continue;
      }
      merge_row<V>(args, row, old_factor[i], new_factor[i]);
      args.big_m[row] = maxima[i];
      args.big_l[row] = sums[i];
    }
  }
}

template <class V>
void attention_finish(float l, const float* o, float* to, std::int32_t n) {
  const V scale = V::set1(1.0F / l);
  std::int32_t d = 0;
  for (; d + kLanes <= n; d += kLanes) V::mul(V::load(o + d), scale).store(to + d);
  if (d < n) V::mul(V::load_n(o + d, n - d), scale).store_n(to + d, n - d);
}

template <class V>
constexpr AttentionKernels make_attention_kernels() {
  return {.piece = attention_piece<V>, .merge = attention_merge<V>, .finish = attention_finish<V>};
}

}  // namespace
}  // namespace minfer::cpu
