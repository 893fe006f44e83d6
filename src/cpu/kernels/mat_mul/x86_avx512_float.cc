// Products with plain F32, F16 and BF16 weights: 16 lanes over k in one register.

#include <immintrin.h>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/rows.h"

namespace minfer::cpu {
namespace {

constexpr int kWeightRows = 4;  // of a register block
constexpr int kXRows = 6;
constexpr std::int64_t kPrefetchBytes = 8192;
constexpr std::int64_t kCacheBytes = 512 * 1024;  // of x that should stay in the L2 cache

// A type: Stored, and 16 of them widened.
struct F32 {
  using Stored = float;
  MINFER_INLINE static __m512 widen(const Stored* from) { return _mm512_loadu_ps(from); }
};
struct F16 {
  using Stored = std::uint16_t;
  MINFER_INLINE static __m512 widen(const Stored* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
};
struct BF16 {
  using Stored = std::uint16_t;
  MINFER_INLINE static __m512 widen(const Stored* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

/// The fixed tree over 16 lanes.
MINFER_INLINE float sum_of_lanes(__m512 lanes) {
  const __m256 r8 = _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
  const __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
  const __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
  return _mm_cvtss_f32(_mm_add_ss(r2, _mm_shuffle_ps(r2, r2, 1)));
}

/// 16 products for each of R x C sums.
template <class Type, int R, int C>
MINFER_INLINE void add_step(const typename Type::Stored* const (&w)[R], const float* const (&x)[C],
                            std::int64_t k, __m512 (&acc)[R][C]) {
  __m512 wide[R];
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) wide[r] = Type::widen(w[r] + k);
  MINFER_UNROLL
  for (int c = 0; c < C; ++c) {
    __m512 values = _mm512_loadu_ps(x[c] + k);
    MINFER_PIN(values);
    MINFER_UNROLL
    for (int r = 0; r < R; ++r) acc[r][c] = _mm512_fmadd_ps(wide[r], values, acc[r][c]);
  }
}

/// Columns `column`.. of R weight rows times rows `first`.. of x.
template <class Type, int R, int C>
void block(const MatMulArgs& args, const std::byte* matrix, std::int64_t column,
           std::int64_t first) {
  using Stored = typename Type::Stored;
  const std::int64_t n = args.weight->n_cols;
  const std::int64_t row_bytes = args.weight->tile_stride / kTileRows;
  const Stored* w[R];
  const float* x[C];
  for (int r = 0; r < R; ++r) {
    w[r] = reinterpret_cast<const Stored*>(matrix + (column + r) * row_bytes);
  }
  for (int c = 0; c < C; ++c) x[c] = x_row<float>(args, first + c);
  __m512 acc[R][C];
  MINFER_UNROLL
  for (int r = 0; r < R; ++r) {
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) acc[r][c] = _mm512_setzero_ps();
  }
  std::int64_t k = 0;
  const bool from_memory = first == 0;  // later rows of x find the weights in the cache
  for (; k + kLanes <= n; k += kLanes) {
    if (from_memory) {
      MINFER_UNROLL
      for (int r = 0; r < R; ++r) {
        _mm_prefetch(reinterpret_cast<const char*>(w[r] + k) + kPrefetchBytes, _MM_HINT_T0);
      }
    }
    add_step<Type, R, C>(w, x, k, acc);
  }
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
    add_step<Type, R, C>(w_padded, x_padded, 0, acc);
  }
  for (int c = 0; c < C; ++c) {
    float* y = y_row(args, first + c) + column;
    for (int r = 0; r < R; ++r) y[r] = sum_of_lanes(acc[r][c]);
  }
}

/// Columns [begin, end) times C rows of x, which the first columns bring to the L1 cache.
template <class Type, int C>
void columns(const MatMulArgs& args, const std::byte* matrix, std::int64_t begin, std::int64_t end,
             std::int64_t first) {
  std::int64_t column = begin;
  for (; column + kWeightRows <= end; column += kWeightRows) {
    block<Type, kWeightRows, C>(args, matrix, column, first);
  }
  for (; column < end; ++column) block<Type, 1, C>(args, matrix, column, first);
}

template <class Type>
void mat_mul(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const PackedWeight& weight = *args.weight;
  const std::byte* matrix = weight.data + args.matrix * weight.matrix_stride;
  const std::int64_t row_bytes = weight.n_cols * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t rows = (kCacheBytes / (row_bytes + 1) / kXRows + 1) * kXRows;
  for (std::int64_t x_begin = 0; x_begin < args.n_x; x_begin += rows) {
    const std::int64_t x_end = least(args.n_x, x_begin + rows);
    for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
      const std::int64_t begin = tile * kTileRows;
      const std::int64_t end = least(begin + kTileRows, weight.n_rows);
      std::int64_t i = x_begin;
      for (; i + kXRows <= x_end; i += kXRows) columns<Type, kXRows>(args, matrix, begin, end, i);
      if (x_end - i >= 3) {
        columns<Type, 3>(args, matrix, begin, end, i);
        i += 3;
      }
      if (x_end - i == 2) columns<Type, 2>(args, matrix, begin, end, i);
      if (x_end - i == 1) columns<Type, 1>(args, matrix, begin, end, i);
    }
  }
}

}  // namespace

void mat_mul_f32_f32_avx512(const MatMulArgs& args, std::int64_t tile_begin,
                            std::int64_t tile_end) {
  mat_mul<F32>(args, tile_begin, tile_end);
}
void mat_mul_f16_f32_avx512(const MatMulArgs& args, std::int64_t tile_begin,
                            std::int64_t tile_end) {
  mat_mul<F16>(args, tile_begin, tile_end);
}
void mat_mul_bf16_f32_avx512(const MatMulArgs& args, std::int64_t tile_begin,
                             std::int64_t tile_end) {
  mat_mul<BF16>(args, tile_begin, tile_end);
}

}  // namespace minfer::cpu
