// Avx512Lanes: the 16 floats of ScalarLanes in one 512-bit register (AVX-512 F, BW, DQ, VL).
//
// Included only by files that are compiled for AVX-512; internal linkage, as in lanes/avx2.h.
// Thread-safety: values.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

struct Avx512Lanes {
  __m512 v;

  /// A tile of attention: rows at most, and values of this type that it may keep in registers.
  static constexpr int kTileRows = 8;
  static constexpr int kTileRegisters = 30;

  static Avx512Lanes zero() { return {_mm512_setzero_ps()}; }
  static Avx512Lanes set1(float x) { return {_mm512_set1_ps(x)}; }
  static Avx512Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Avx512Lanes load_n(const float* p, int n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
  static Avx512Lanes load_f16(const std::uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  static Avx512Lanes broadcast_f16(std::uint16_t h) {
    return {_mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(h)))};
  }
  static Avx512Lanes load_i8(const std::int8_t* p) {
    const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q))};
  }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  void store_f16(std::uint16_t* p) const {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, kNearest));
  }
  void store_n(float* p, int n) const { _mm512_mask_storeu_ps(p, first(n), v); }

  static Avx512Lanes add(Avx512Lanes a, Avx512Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  static Avx512Lanes sub(Avx512Lanes a, Avx512Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
  static Avx512Lanes mul(Avx512Lanes a, Avx512Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static Avx512Lanes div(Avx512Lanes a, Avx512Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
  static Avx512Lanes fma(Avx512Lanes a, Avx512Lanes b, Avx512Lanes c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  }
  static Avx512Lanes max(Avx512Lanes a, Avx512Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
  static Avx512Lanes min(Avx512Lanes a, Avx512Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
  static Avx512Lanes select_less(Avx512Lanes a, Avx512Lanes b, Avx512Lanes x, Avx512Lanes y) {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
  }
  static Avx512Lanes neg(Avx512Lanes a) { return {_mm512_xor_ps(a.v, sign())}; }
  static Avx512Lanes abs(Avx512Lanes a) { return {_mm512_andnot_ps(sign(), a.v)}; }
  static Avx512Lanes with_sign(Avx512Lanes a, Avx512Lanes s) {
    return {_mm512_or_ps(a.v, _mm512_and_ps(sign(), s.v))};
  }
  static Avx512Lanes scale_by_power_of_2(Avx512Lanes a, Avx512Lanes n) {
    const __m512i whole = _mm512_cvttps_epi32(n.v);
    const __m512i half = _mm512_srai_epi32(whole, 1);
    const __m512 once = _mm512_mul_ps(a.v, power_of_2(half));
    return {_mm512_mul_ps(once, power_of_2(_mm512_sub_epi32(whole, half)))};
  }
  static Avx512Lanes keep_range(Avx512Lanes a, int keep_from, int keep_to, Avx512Lanes other) {
    const __mmask16 kept = first(keep_to) & static_cast<__mmask16>(~first(keep_from));
    return {_mm512_mask_blend_ps(kept, other.v, a.v)};
  }
  static float sum(Avx512Lanes a) {
    const __m256 s8 = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_shuffle_ps(s2, s2, 1)));
  }
  static float largest(Avx512Lanes a) {
    const __m256 m8 = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(m8), _mm256_extractf128_ps(m8, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_shuffle_ps(m2, m2, 1)));
  }
  static void load_pairs(const float* p, Avx512Lanes& even, Avx512Lanes& odd) {
    const __m512 a = _mm512_loadu_ps(p);
    const __m512 b = _mm512_loadu_ps(p + kLanes);
    const __m512i evens = _mm512_add_epi32(counting(), counting());
    even.v = _mm512_permutex2var_ps(a, evens, b);
    odd.v = _mm512_permutex2var_ps(a, _mm512_add_epi32(evens, _mm512_set1_epi32(1)), b);
  }
  static void store_pairs(float* p, Avx512Lanes even, Avx512Lanes odd) {
    // Index 16 + i is lane i of `odd`.
    const __m512i halves = _mm512_srli_epi32(counting(), 1);
    const __m512i is_odd = _mm512_and_si512(counting(), _mm512_set1_epi32(1));
    const __m512i low = _mm512_add_epi32(halves, _mm512_slli_epi32(is_odd, 4));
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(kLanes / 2));
    _mm512_storeu_ps(p, _mm512_permutex2var_ps(even.v, low, odd.v));
    _mm512_storeu_ps(p + kLanes, _mm512_permutex2var_ps(even.v, high, odd.v));
  }

 private:
  static __mmask16 first(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
  static __m512 sign() { return _mm512_set1_ps(-0.0F); }
  static __m512i counting() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  static __m512 power_of_2(__m512i n) {
    const __m512i exponent = _mm512_add_epi32(n, _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }
};

}  // namespace
}  // namespace minfer::cpu
