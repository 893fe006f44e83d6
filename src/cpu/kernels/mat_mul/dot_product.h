// dot_product.h: products of interleaved tiles with Q8A rows over a vector policy V whose dot()
// is exact in 32 bits: x86_dot_vector*.h, arm_vector.h. Internal linkage: every file makes its own.
//
// As in x86_avx2_product.h: few rows of x meet tiles unpacked in registers ("fused"), many stream
// past a panel of unpacked tiles in the L1 cache. A vector of which only the first tile exists
// computes that one twice and stores it once. Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/mat_mul/dot_types.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/rows.h"

namespace minfer::cpu {
namespace {

// How far ahead memory is asked for weights.
constexpr std::int64_t kFusedPrefetchBytes = 8192;
constexpr std::int64_t kPanelPrefetchBytes = 16384;
constexpr std::int64_t kCacheBytes = 512 * 1024;  // of x that should stay in the L2 cache
constexpr std::int64_t kPanelBytes = 24 * 1024;

/// Asks for what lies `distance` bytes after `part`, in the order of memory.
template <class Part>
MINFER_INLINE void prefetch_ahead(const Part& part, std::ptrdiff_t distance) {
  const char* ahead = reinterpret_cast<const char*>(&part) + distance;
  MINFER_UNROLL
  for (std::size_t line = 0; line < (sizeof(Part) + 63) / 64; ++line) {
    __builtin_prefetch(ahead + 64 * line);
  }
}

/// The blocks of C rows of x that meet one block of weights. One index moves them all: pointers
/// that step side by side end up in memory.
template <int C>
struct XBlocks {
  const std::byte* row[C];
  std::int64_t at;  // bytes
  MINFER_INLINE const Q8ABlock& operator[](int c) const {
    return *reinterpret_cast<const Q8ABlock*>(row[c] + at);
  }
  MINFER_INLINE void next() { at += static_cast<std::int64_t>(sizeof(Q8ABlock)); }
};

/// -offset times the sum of a of one half, in every lane.
template <class V, Offset kOffset>
MINFER_INLINE typename V::Int start_of(const Q8ABlock& a, int half) {
  if constexpr (kOffset == Offset::kNone || V::kSignedCodes) {
    return V::zero();
  } else {
    constexpr int kShift = kOffset == Offset::kMinus8      ? -1
                           : kOffset == Offset::kMinus32x2 ? 1
                           : kOffset == Offset::kMinus128  ? 3
                                                           : 0;
    return V::template shift_lanes<kShift>(V::add_pair(V::zero(), a.offset + 2 * half));
  }
}

/// Adds steps [kFrom, kTo).
template <class V, int kFrom, int kTo, int T, int C, class Weights>
MINFER_INLINE void add_steps(const Weights (&w)[T], const XBlocks<C>& a,
                             typename V::Int (&dots)[T][C]) {
  MINFER_UNROLL
  for (int s = kFrom; s < kTo; ++s) {
    typename V::Int codes[T];
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) codes[t] = w[t].codes(s);
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const typename V::Int x = V::broadcast4(a[c].q + 4 * s);
      MINFER_UNROLL
      for (int t = 0; t < T; ++t) dots[t][c] = V::dot(dots[t][c], codes[t], x);
    }
  }
}

template <class V, Offset kOffset, int T, int C>
MINFER_INLINE void set_starts(const XBlocks<C>& a, int half, typename V::Int (&dots)[T][C]) {
  MINFER_UNROLL
  for (int c = 0; c < C; ++c) {
    const auto start = start_of<V, kOffset>(a[c], half);
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) dots[t][c] = start;
  }
}

/// The same sums of a half where V takes two rows of x at a time.
template <class V, int kHalf, int T, int C, class Weights>
MINFER_INLINE void pair_dots(const Weights (&w)[T], const XBlocks<C>& a,
                             typename V::Int (&dots)[T][C]) {
  static_assert(V::kSignedCodes);
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    typename V::Int codes[4];
    MINFER_UNROLL
    for (int s = 0; s < 4; ++s) codes[s] = w[t].codes(4 * kHalf + s);
    MINFER_UNROLL
    for (int c = 0; c < C; c += 2) {
      V::dot_pair(codes, a[c].q + kHalf * kHalfElements, a[c + 1].q + kHalf * kHalfElements,
                  dots[t][c], dots[t][c + 1]);
    }
  }
}

/// The exact integer I of a half (docs/arithmetic.md), lane by lane a row.
template <class V, Offset kOffset, int kHalf, int T, int C, class Weights>
MINFER_INLINE void half_dots(const Weights (&w)[T], const XBlocks<C>& a,
                             typename V::Int (&dots)[T][C]) {
  if constexpr (V::kRowPairs && C % 2 == 0) {
    pair_dots<V, kHalf>(w, a, dots);
  } else {
    set_starts<V, kOffset>(a, kHalf, dots);
    add_steps<V, 4 * kHalf, 4 * kHalf + 4>(w, a, dots);
  }
  if constexpr (kOffset == Offset::kMinus32x2) {
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) {
      const auto scale = w[t].sub_scale(kHalf);
      MINFER_UNROLL
      for (int c = 0; c < C; ++c) dots[t][c] = V::mul_lanes(dots[t][c], scale);
    }
  }
}

template <class V, Offset kOffset, int kHalf, int T, int C, class Weights>
MINFER_INLINE void add_half(const Weights (&w)[T], const XBlocks<C>& a,
                            typename V::Float (&acc)[T][C]) {
  typename V::Int dots[T][C];
  half_dots<V, kOffset, kHalf>(w, a, dots);
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    const auto scale = w[t].scale();
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const auto d = V::mul(scale, V::broadcast(&a[c].d[kHalf]));
      acc[t][c] = V::fma(V::to_floats(dots[t][c]), d, acc[t][c]);
    }
  }
}

/// Adds one block of w to the accumulators. Weights: codes(s), scale(), and where the type has
/// them min() and sub_scale(half).
template <class V, Offset kOffset, int T, int C, class Weights>
MINFER_INLINE void add_block(const Weights (&w)[T], const XBlocks<C>& a,
                             typename V::Float (&acc)[T][C]) {
  add_half<V, kOffset, 0>(w, a, acc);
  add_half<V, kOffset, 1>(w, a, acc);
  if constexpr (has_min(kOffset)) {
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) {
      const auto min = w[t].min();
      MINFER_UNROLL
      for (int c = 0; c < C; ++c) acc[t][c] = V::fma(min, V::broadcast(&a[c].s), acc[t][c]);
    }
  }
}

/// Step s as V::dot() takes it: unsigned, or with the offset taken off.
template <class V, class Type>
MINFER_INLINE typename V::Int codes_for(const At<Type>& at, int s) {
  const auto codes = Type::template codes<V>(at, s);
  if constexpr (V::kSignedCodes && Type::kOffset != Offset::kNone) {
    return V::add_bytes(codes, -taken_off(Type::kOffset));
  } else {
    return codes;
  }
}

template <class V, class Type>
struct FusedWeights {
  At<Type> at;
  MINFER_INLINE typename V::Int codes(int s) const { return codes_for<V>(at, s); }
  MINFER_INLINE typename V::Float scale() const { return Type::template scale<V>(at); }
  MINFER_INLINE typename V::Float min() const { return Type::template min<V>(at); }
  MINFER_INLINE typename V::Int sub_scale(int half) const {
    return Type::template sub_scale<V>(at, half);
  }
};

/// Rows [first, first + n) of x, at most C of them, that meet the same tiles.
struct RowRange {
  std::int64_t first;
  std::int64_t n;
  /// Row `c` of C; those past the end are the last one again, and give the same result again.
  [[nodiscard]] std::int64_t row(std::int64_t c) const { return first + least(c, n - 1); }
};

/// V::kTiles tiles, `apart` bytes from each other, times up to C rows of x.
template <class V, class Type, int C>
void fused_tiles(const MatMulArgs& args, const RowRange& rows, const std::byte* data,
                 std::ptrdiff_t apart, std::int64_t column, std::int64_t n_lanes) {
  const std::int64_t n_blocks = args.weight->n_cols / (kBlockElements * Type::kSubs);
  const auto* tile = reinterpret_cast<const typename Type::Tile*>(data);
  XBlocks<C> a;
  a.at = 0;
  for (int c = 0; c < C; ++c) a.row[c] = x_row<std::byte>(args, rows.row(c));
  typename V::Float acc[1][C];
  for (int c = 0; c < C; ++c) acc[0][c] = V::zero_floats();
  for (std::int64_t b = 0; b < n_blocks; ++b, ++tile) {
    for (int j = 0; j < Type::kSubs; ++j) {
      const auto& sub = Type::sub(*tile, j);
      const FusedWeights<V, Type> weights[1] = {{{tile, &sub, apart}}};
      prefetch_ahead(sub, kFusedPrefetchBytes);
      if constexpr (V::kTiles == 2) prefetch_ahead(sub, kFusedPrefetchBytes + apart);
      add_block<V, Type::kOffset>(weights, a, acc);
      a.next();
    }
  }
  for (int c = 0; c < C; ++c) V::store(y_row(args, rows.row(c)) + column, acc[0][c], n_lanes);
}

/// Columns of the tiles [tile, tile_end) that exist.
inline std::int64_t columns_from(const MatMulArgs& args, std::int64_t tile, std::int64_t tile_end) {
  return least(tile_end * kTileRows, args.weight->n_rows) - tile * kTileRows;
}

/// All tiles times all rows of x, as many rows at a time as V has registers for: a tile comes from
/// memory for the first of them and from the cache for the rest.
template <class V, class Type>
void fused(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile_begin,
           std::int64_t tile_end) {
  const std::int64_t stride = args.weight->tile_stride;
  const std::int64_t passes = (args.n_x + V::kMostFusedRows - 1) / V::kMostFusedRows;
  const std::int64_t at_once = (args.n_x + passes - 1) / passes;
  for (std::int64_t tile = tile_begin; tile < tile_end; tile += V::kTiles) {
    const std::byte* data = matrix + tile * stride;
    const std::ptrdiff_t apart = tile + 1 < tile_end ? stride : 0;
    const std::int64_t n = columns_from(args, tile, tile_end);
    const std::int64_t column = tile * kTileRows;
    for (std::int64_t first = 0; first < args.n_x; first += at_once) {
      const RowRange rows = {first, least(at_once, args.n_x - first)};
      if (rows.n > 6) {
        if constexpr (V::kMostFusedRows >= 8) {
          fused_tiles<V, Type, 8>(args, rows, data, apart, column, n);
        }
      } else if (rows.n > 4) {
        if constexpr (V::kMostFusedRows >= 6) {
          fused_tiles<V, Type, 6>(args, rows, data, apart, column, n);
        }
      } else if (rows.n > 2) {
        fused_tiles<V, Type, 4>(args, rows, data, apart, column, n);
      } else {
        fused_tiles<V, Type, 2>(args, rows, data, apart, column, n);
      }
    }
  }
}

/// All tiles times one row of x.
template <class V, class Type>
void fused_row(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile_begin,
               std::int64_t tile_end) {
  const std::int64_t stride = args.weight->tile_stride;
  for (std::int64_t tile = tile_begin; tile < tile_end; tile += V::kTiles) {
    const std::ptrdiff_t apart = tile + 1 < tile_end ? stride : 0;
    fused_tiles<V, Type, 1>(args, {0, 1}, matrix + tile * stride, apart, tile * kTileRows,
                            columns_from(args, tile, tile_end));
  }
}

/// 32 elements of V::kTiles tiles, unpacked.
template <class V>
struct PanelBlock {
  typename V::Int code[8];
  typename V::Float d;
  union {
    typename V::Float m;
    typename V::Int sub_scales[2];
  };
};

template <class V>
struct PanelWeights {
  const PanelBlock<V>* block;
  MINFER_INLINE typename V::Int codes(int s) const { return block->code[s]; }
  MINFER_INLINE typename V::Float scale() const { return block->d; }
  MINFER_INLINE typename V::Float min() const { return block->m; }
  MINFER_INLINE typename V::Int sub_scale(int half) const { return block->sub_scales[half]; }
};

template <class V>
inline constexpr std::int64_t kPanelBlocks =
    kPanelBytes / (V::kPanelVectors * static_cast<std::int64_t>(sizeof(PanelBlock<V>)));

/// Unpacks blocks [first, first + n) of the tiles from `data` on.
template <class V, class Type>
void unpack(const std::byte* data, std::ptrdiff_t apart, std::int64_t first, std::int64_t n,
            PanelBlock<V>* to) {
  const auto* tiles = reinterpret_cast<const typename Type::Tile*>(data);
  for (std::int64_t b = first; b < first + n; ++b, ++to) {
    const auto& tile = tiles[b / Type::kSubs];
    const auto& sub = Type::sub(tile, static_cast<int>(b % Type::kSubs));
    const At<Type> at = {&tile, &sub, apart};
    prefetch_ahead(sub, kPanelPrefetchBytes);
    if constexpr (V::kTiles == 2) prefetch_ahead(sub, kPanelPrefetchBytes + apart);
    MINFER_UNROLL
    for (int s = 0; s < 8; ++s) to->code[s] = codes_for<V>(at, s);
    to->d = Type::template scale<V>(at);
    if constexpr (has_min(Type::kOffset)) to->m = Type::template min<V>(at);
    if constexpr (Type::kOffset == Offset::kMinus32x2) {
      to->sub_scales[0] = Type::template sub_scale<V>(at, 0);
      to->sub_scales[1] = Type::template sub_scale<V>(at, 1);
    }
  }
}

/// One or two unpacked vectors of tiles, vector t from blocks[t * kPanelBlocks], and where they
/// stand: blocks [first_block, first_block + n_blocks) of the columns from `column`, of which
/// n_columns exist.
template <class V>
struct Panel {
  const PanelBlock<V>* blocks;
  std::int64_t first_block;
  std::int64_t n_blocks;
  std::int64_t column;
  std::int64_t n_columns;
};

template <class V, Offset kOffset, int T, int C>
void panel_rows(const MatMulArgs& args, const Panel<V>& panel, std::int64_t first) {
  constexpr std::int64_t kVectorRows = V::kTiles * kTileRows;
  XBlocks<C> a;
  a.at = panel.first_block * static_cast<std::int64_t>(sizeof(Q8ABlock));
  float* y[C];
  for (int c = 0; c < C; ++c) {
    a.row[c] = x_row<std::byte>(args, first + c);
    y[c] = y_row(args, first + c) + panel.column;
  }
  typename V::Float acc[T][C];
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      acc[t][c] = panel.first_block == 0
                      ? V::zero_floats()
                      : V::load_floats(y[c] + t * kVectorRows, panel.n_columns - t * kVectorRows);
    }
  }
  for (std::int64_t b = 0; b < panel.n_blocks; ++b) {
    PanelWeights<V> weights[T];
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) weights[t].block = panel.blocks + t * kPanelBlocks<V> + b;
    add_block<V, kOffset>(weights, a, acc);
    a.next();
  }
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      V::store(y[c] + t * kVectorRows, acc[t][c], panel.n_columns - t * kVectorRows);
    }
  }
}

/// Rows [begin, end) of x, as many at a time as T vectors leave registers for.
template <class V, Offset kOffset, int T>
void panel_range(const MatMulArgs& args, const Panel<V>& panel, std::int64_t begin,
                 std::int64_t end) {
  constexpr int C = V::rows_at_once(T);
  std::int64_t i = begin;
  for (; i + C <= end; i += C) panel_rows<V, kOffset, T, C>(args, panel, i);
  if constexpr (C > 4) {
    for (; i + 4 <= end; i += 4) panel_rows<V, kOffset, T, 4>(args, panel, i);
  }
  for (; i + 2 <= end; i += 2) panel_rows<V, kOffset, T, 2>(args, panel, i);
  if (i < end) panel_rows<V, kOffset, T, 1>(args, panel, i);
}

/// Rows [begin, end) of x times the tiles [tile, tile_end), at most two vectors of them.
template <class V, class Type>
void panel_tiles(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile,
                 std::int64_t tile_end, std::int64_t begin, std::int64_t end) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t n_blocks = weight.n_cols / kBlockElements;
  const std::int64_t n_chunks = (n_blocks + kPanelBlocks<V> - 1) / kPanelBlocks<V>;
  const std::int64_t chunk = (n_blocks + n_chunks - 1) / n_chunks;
  PanelBlock<V> blocks[V::kPanelVectors * kPanelBlocks<V>];
  for (std::int64_t first = 0; first < n_blocks; first += chunk) {
    const Panel<V> panel = {.blocks = blocks,
                            .first_block = first,
                            .n_blocks = least(chunk, n_blocks - first),
                            .column = tile * kTileRows,
                            .n_columns = columns_from(args, tile, tile_end)};
    int n_vectors = 0;
    for (std::int64_t t = tile; t < tile_end; t += V::kTiles, ++n_vectors) {
      const std::ptrdiff_t apart = t + 1 < tile_end ? weight.tile_stride : 0;
      unpack<V, Type>(matrix + t * weight.tile_stride, apart, first, panel.n_blocks,
                      blocks + n_vectors * kPanelBlocks<V>);
    }
    if (n_vectors == V::kPanelVectors) {
      panel_range<V, Type::kOffset, V::kPanelVectors>(args, panel, begin, end);
    } else {
      panel_range<V, Type::kOffset, 1>(args, panel, begin, end);
    }
  }
}

template <class V, class Type>
void panels(const MatMulArgs& args, const std::byte* matrix, std::int64_t tile_begin,
            std::int64_t tile_end) {
  constexpr std::int64_t kWholeRows = 12;  // a multiple of what panel_range takes at a time
  constexpr std::int64_t kPanelTiles = V::kPanelVectors * V::kTiles;
  const std::int64_t row_bytes =
      args.weight->n_cols / kBlockElements * static_cast<std::int64_t>(sizeof(Q8ABlock));
  const std::int64_t rows = (kCacheBytes / row_bytes / kWholeRows + 1) * kWholeRows;
  for (std::int64_t begin = 0; begin < args.n_x; begin += rows) {
    const std::int64_t end = least(args.n_x, begin + rows);
    for (std::int64_t tile = tile_begin; tile < tile_end; tile += kPanelTiles) {
      panel_tiles<V, Type>(args, matrix, tile, least(tile + kPanelTiles, tile_end), begin, end);
    }
  }
}

/// One row of x in vectors `One`, more in V.
template <class V, class One, class Type>
void mat_mul(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const std::byte* matrix = args.weight->data + args.matrix * args.weight->matrix_stride;
  if (args.n_x == 1) {
    fused_row<One, Type>(args, matrix, tile_begin, tile_end);
  } else if (args.n_x < V::kLeastPanelRows) {
    fused<V, Type>(args, matrix, tile_begin, tile_end);
  } else {
    panels<V, Type>(args, matrix, tile_begin, tile_end);
  }
}

}  // namespace
}  // namespace minfer::cpu
