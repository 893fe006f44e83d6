// Avx2Lanes: the 16 floats of ScalarLanes in two 256-bit registers (AVX2, FMA, F16C).
//
// Included only by files that are compiled for AVX2; internal linkage, so that no function of such
// a file can be taken by the linker for the rest of the program.
// Thread-safety: values.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

alignas(64) inline constexpr std::int32_t kLaneMasks[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                            -1, -1, -1, -1, -1, -1, -1, -1};

struct Avx2Lanes {
  __m256 lo, hi;

  /// A tile of attention: rows at most, and values of this type that it may keep in registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTileRegisters = 7;

  static Avx2Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Avx2Lanes set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Avx2Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Avx2Lanes load_n(const float* p, int n) {
    const Mask m = first(n);
    return {_mm256_maskload_ps(p, m.lo), _mm256_maskload_ps(p + 8, m.hi)};
  }
  static Avx2Lanes load_f16(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static Avx2Lanes broadcast_f16(std::uint16_t h) {
    const __m256 x = _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(h)));
    return {x, x};
  }
  static Avx2Lanes load_i8(const std::int8_t* p) {
    const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(q, 8)))};
  }
  void store(float* p) const {
    _mm256_storeu_ps(p, lo);
    _mm256_storeu_ps(p + 8, hi);
  }
  void store_f16(std::uint16_t* p) const {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(lo, kNearest));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(hi, kNearest));
  }
  void store_n(float* p, int n) const {
    const Mask m = first(n);
    _mm256_maskstore_ps(p, m.lo, lo);
    _mm256_maskstore_ps(p + 8, m.hi, hi);
  }

  static Avx2Lanes add(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
  }
  static Avx2Lanes sub(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
  }
  static Avx2Lanes mul(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
  }
  static Avx2Lanes div(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
  }
  static Avx2Lanes fma(Avx2Lanes a, Avx2Lanes b, Avx2Lanes c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static Avx2Lanes max(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
  }
  static Avx2Lanes min(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
  }
  static Avx2Lanes select_less(Avx2Lanes a, Avx2Lanes b, Avx2Lanes x, Avx2Lanes y) {
    return {_mm256_blendv_ps(y.lo, x.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
            _mm256_blendv_ps(y.hi, x.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
  }
  static Avx2Lanes neg(Avx2Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
  }
  static Avx2Lanes abs(Avx2Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
  }
  static Avx2Lanes with_sign(Avx2Lanes a, Avx2Lanes s) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_or_ps(a.lo, _mm256_and_ps(sign, s.lo)),
            _mm256_or_ps(a.hi, _mm256_and_ps(sign, s.hi))};
  }
  static Avx2Lanes scale_by_power_of_2(Avx2Lanes a, Avx2Lanes n) {
    return {scale_half(a.lo, n.lo), scale_half(a.hi, n.hi)};
  }
  static Avx2Lanes keep_range(Avx2Lanes a, int keep_from, int keep_to, Avx2Lanes other) {
    const Mask from = first(keep_from);
    const Mask to = first(keep_to);
    const __m256 lo_mask = _mm256_castsi256_ps(_mm256_andnot_si256(from.lo, to.lo));
    const __m256 hi_mask = _mm256_castsi256_ps(_mm256_andnot_si256(from.hi, to.hi));
    return {_mm256_blendv_ps(other.lo, a.lo, lo_mask), _mm256_blendv_ps(other.hi, a.hi, hi_mask)};
  }
  static float sum(Avx2Lanes a) {
    const __m256 s8 = _mm256_add_ps(a.lo, a.hi);
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_shuffle_ps(s2, s2, 1)));
  }
  static float largest(Avx2Lanes a) {
    const __m256 m8 = _mm256_max_ps(a.lo, a.hi);
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(m8), _mm256_extractf128_ps(m8, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_shuffle_ps(m2, m2, 1)));
  }
  static void load_pairs(const float* p, Avx2Lanes& even, Avx2Lanes& odd) {
    split(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), even.lo, odd.lo);
    split(_mm256_loadu_ps(p + 16), _mm256_loadu_ps(p + 24), even.hi, odd.hi);
  }
  static void store_pairs(float* p, Avx2Lanes even, Avx2Lanes odd) {
    join(p, even.lo, odd.lo);
    join(p + 16, even.hi, odd.hi);
  }

 private:
  struct Mask {
    __m256i lo, hi;
  };
  static Mask first(int n) {
    const auto* p = reinterpret_cast<const __m256i_u*>(kLaneMasks + kLanes - n);
    return {_mm256_loadu_si256(p), _mm256_loadu_si256(p + 1)};
  }
  static __m256 scale_half(__m256 a, __m256 n) {
    const __m256i whole = _mm256_cvttps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i first_step = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i rest = _mm256_sub_epi32(whole, half);
    const __m256i second_step = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(first_step)),
                         _mm256_castsi256_ps(second_step));
  }
  static void split(__m256 a, __m256 b, __m256& even, __m256& odd) {
    const __m256d e = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    const __m256d o = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
    even = _mm256_castpd_ps(_mm256_permute4x64_pd(e, 0xd8));
    odd = _mm256_castpd_ps(_mm256_permute4x64_pd(o, 0xd8));
  }
  static void join(float* p, __m256 even, __m256 odd) {
    const __m256 low = _mm256_unpacklo_ps(even, odd);
    const __m256 high = _mm256_unpackhi_ps(even, odd);
    _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
  }
};

}  // namespace
}  // namespace minfer::cpu
