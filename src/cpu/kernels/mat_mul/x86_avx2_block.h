// x86_avx2_block.h: what one block of 32 elements adds to T tiles x C columns. For the files
// x86_avx2*.cc alone; see x86_avx2_types.h.
//
// Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/mat_mul/x86_avx2_types.h"

namespace minfer::cpu {
namespace {

/// 4 bytes repeated in all 8 lanes.
MINFER_INLINE __m256i broadcast4(const void* from) {
  int word = 0;
  __builtin_memcpy(&word, from, 4);
  return _mm256_set1_epi32(word);
}

/// Adds the products of steps [kFrom, kTo) to 16-bit sums; with kFresh the first step sets them.
template <int kFrom, int kTo, bool kFresh, int T, int C, class Weights>
MINFER_INLINE void sum_steps(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                             __m256i (&sums)[T][C]) {
  MINFER_UNROLL
  for (int s = kFrom; s < kTo; ++s) {
    __m256i codes[T];
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) codes[t] = w[t].codes(s);
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const __m256i x = broadcast4(a[c]->q + 4 * s);
      MINFER_UNROLL
      for (int t = 0; t < T; ++t) {
        const __m256i pairs = _mm256_maddubs_epi16(codes[t], x);
        sums[t][c] = kFresh && s == kFrom ? pairs : _mm256_add_epi16(sums[t][c], pairs);
        MINFER_PIN(sums[t][c]);
      }
    }
  }
}

/// 16-bit sums of -16 a to sums of -kOffset a.
template <int kOffset>
MINFER_INLINE __m256i start_of(__m256i minus16) {
  static_assert(kOffset == 0 || kOffset == 1 || kOffset == 4 || kOffset == 8 || kOffset == 12 ||
                kOffset == 16 || kOffset == 32);
  if constexpr (kOffset == 0) return _mm256_setzero_si256();
  if constexpr (kOffset == 1) return _mm256_srai_epi16(minus16, 4);
  if constexpr (kOffset == 4) return _mm256_srai_epi16(minus16, 2);
  if constexpr (kOffset == 8) return _mm256_srai_epi16(minus16, 1);
  if constexpr (kOffset == 12) return _mm256_sub_epi16(minus16, _mm256_srai_epi16(minus16, 2));
  if constexpr (kOffset == 16) return minus16;
  if constexpr (kOffset == 32) return _mm256_slli_epi16(minus16, 1);
}

/// What the pairs of 16-bit sums of a lane are multiplied with and added by.
template <bool kScaled, int kHalf, class Weights>
MINFER_INLINE __m256i pair_factors(const Weights& w) {
  if constexpr (kScaled) return w.sub_scale(kHalf);
  return _mm256_set1_epi16(1);
}

/// Sums over the 16 elements of a half that start from -offset times the sum of a.
template <int kHalf, int kOffset, bool kScaled, int T, int C, class Weights>
MINFER_INLINE void dots_unsigned(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                                 __m256i (&dots)[T][C]) {
  if constexpr (kOffset != 0) {
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const __m256i start = start_of<kOffset>(broadcast4(a[c]->offset + 2 * kHalf));
      MINFER_UNROLL
      for (int t = 0; t < T; ++t) dots[t][c] = start;
    }
  }
  sum_steps<4 * kHalf, 4 * kHalf + 4, kOffset == 0>(w, a, dots);
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    const __m256i factors = pair_factors<kScaled, kHalf>(w[t]);
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) dots[t][c] = _mm256_madd_epi16(dots[t][c], factors);
  }
}

template <int kHalf, bool kScaled, int T, int C, class Weights>
MINFER_INLINE void dots_signed(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                               __m256i (&dots)[T][C]) {
  MINFER_UNROLL
  for (int s = 4 * kHalf; s < 4 * kHalf + 4; ++s) {
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m256i codes = w[t].codes(s);
      const __m256i magnitude = _mm256_abs_epi8(codes);  // 128 as u8
      const __m256i factors = pair_factors<kScaled, kHalf>(w[t]);
      MINFER_UNROLL
      for (int c = 0; c < C; ++c) {
        const __m256i x = _mm256_sign_epi8(broadcast4(a[c]->q + 4 * s), codes);
        const __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude, x), factors);
        dots[t][c] = s == 4 * kHalf ? sum : _mm256_add_epi32(dots[t][c], sum);
        MINFER_PIN(dots[t][c]);
      }
    }
  }
}

/// The exact integer I of a half (docs/arithmetic.md), lane by lane a row.
template <Sums kSums, int kHalf, int T, int C, class Weights>
MINFER_INLINE void half_dots(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                             __m256i (&dots)[T][C]) {
  constexpr bool kScaled = has_sub_scales(kSums) || kSums == Sums::kTwoScalesMins;
  if constexpr (kSums == Sums::kSigned || kSums == Sums::kSignedHalves) {
    dots_signed<kHalf, kScaled>(w, a, dots);
  } else {
    dots_unsigned<kHalf, offset_of(kSums), kScaled>(w, a, dots);
  }
}

/// J of docs/arithmetic.md, one tile, one row of x and one half: exact, as offset holds -16 times
/// sums of a.
template <int kHalf, class Weights>
MINFER_INLINE __m256i min_dots(const Weights& w, const Q8ABlock& a) {
  const __m256i sums = _mm256_madd_epi16(broadcast4(a.offset + 2 * kHalf), w.sub_min(kHalf));
  return _mm256_srai_epi32(sums, 4);
}

template <Sums kSums, int kHalf, int T, int C, class Weights>
MINFER_INLINE void add_half(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                            __m256 (&acc)[T][C]) {
  __m256i dots[T][C];
  half_dots<kSums, kHalf>(w, a, dots);
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    const __m256 scale = w[t].scale();
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const __m256 d = _mm256_mul_ps(scale, _mm256_broadcast_ss(&a[c]->d[kHalf]));
      acc[t][c] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[t][c]), d, acc[t][c]);
    }
  }
}

template <int kHalf, int T, int C, class Weights>
MINFER_INLINE void add_half_mins(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                                 __m256 (&acc)[T][C]) {
  MINFER_UNROLL
  for (int t = 0; t < T; ++t) {
    const __m256 unit = w[t].min_unit();
    MINFER_UNROLL
    for (int c = 0; c < C; ++c) {
      const __m256 d = _mm256_mul_ps(unit, _mm256_broadcast_ss(&a[c]->d[kHalf]));
      acc[t][c] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(min_dots<kHalf>(w[t], *a[c])), d, acc[t][c]);
    }
  }
}

/// Adds one block of w to the accumulators. Weights: codes(s), scale(), and where the type has
/// them min(), sub_scale(half), sub_min(half) and min_unit().
template <Sums kSums, int T, int C, class Weights>
MINFER_INLINE void add_block(const Weights (&w)[T], const Q8ABlock* const (&a)[C],
                             __m256 (&acc)[T][C]) {
  add_half<kSums, 0>(w, a, acc);
  add_half<kSums, 1>(w, a, acc);
  if constexpr (has_min(kSums)) {
    MINFER_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m256 min = w[t].min();
      MINFER_UNROLL
      for (int c = 0; c < C; ++c) {
        acc[t][c] = _mm256_fmadd_ps(min, _mm256_broadcast_ss(&a[c]->s), acc[t][c]);
      }
    }
  }
  if constexpr (kSums == Sums::kTwoScalesMins) {
    add_half_mins<0>(w, a, acc);
    add_half_mins<1>(w, a, acc);
  }
}

}  // namespace
}  // namespace minfer::cpu
