// x86_dot_vector256.h: the vector policy of AVX-VNNI, one tile a 256-bit register; AVX-512 VNNI has
// the same instructions in its own encoding. For the files x86_avxvnni*.cc and x86_avx512vnni*.cc
// alone; internal linkage.
//
// Thread-safety: values.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {
namespace {

struct Vector256 {
  using Int = __m256i;
  using Float = __m256;
  static constexpr int kTiles = 1;
  static constexpr bool kSignedCodes = false;
  static constexpr bool kRowPairs = false;
  static constexpr int kPanelVectors = 2;
  /// Rows of x that meet a panel of 1 or 2 vectors: sums and accumulators fill 16 registers.
  static constexpr int rows_at_once(int vectors) { return vectors == 2 ? 3 : 6; }
  /// Rows of x that meet tiles unpacked in registers; from kLeastPanelRows on panels are quicker.
  static constexpr int kMostFusedRows = 6;
  static constexpr int kLeastPanelRows = 17;

  MINFER_INLINE static Int load(const void* from, std::ptrdiff_t) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  MINFER_INLINE static Float widen_f16(const std::uint16_t (&from)[kTileLanes], std::ptrdiff_t) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  MINFER_INLINE static Float widen_u8(const std::uint8_t (&from)[kTileLanes], std::ptrdiff_t) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  }
  MINFER_INLINE static Int widen_i8(const std::int8_t (&from)[kTileLanes], std::ptrdiff_t) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  }

  MINFER_INLINE static Int widen_bytes(const std::uint8_t (&from)[kTileLanes], std::ptrdiff_t) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  }
  /// 2^(e - 128): the two lowest are subnormal.
  MINFER_INLINE static Float half_power(const std::uint8_t (&from)[kTileLanes],
                                        std::ptrdiff_t apart) {
    const Int e = widen_bytes(from, apart);
    const Int one = _mm256_set1_epi32(1);
    const Int normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
    const Int tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(tiny, normal, _mm256_cmpgt_epi32(e, one)));
  }
  /// The byte of `table` that each byte's low four bits name (bit 7 must be 0).
  MINFER_INLINE static Int look_up(const std::int8_t (&table)[16], Int places) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), places);
  }
  MINFER_INLINE static Int add_bytes(Int a, int b) {
    return _mm256_add_epi8(a, _mm256_set1_epi8(static_cast<char>(b)));
  }

  MINFER_INLINE static Int zero() { return _mm256_setzero_si256(); }
  MINFER_INLINE static Float zero_floats() { return _mm256_setzero_ps(); }
  MINFER_INLINE static Int and_bytes(Int a, int mask) {
    return _mm256_and_si256(a, _mm256_set1_epi8(static_cast<char>(mask)));
  }
  MINFER_INLINE static Int or_bits(Int a, Int b) { return _mm256_or_si256(a, b); }
  MINFER_INLINE static Int add_128(Int a) {
    return _mm256_xor_si256(a, _mm256_set1_epi8(static_cast<char>(0x80)));
  }
  /// Left by kCount bits, right if negative; bits cross bytes.
  template <int kCount>
  MINFER_INLINE static Int shift(Int a) {
    if constexpr (kCount >= 0) return _mm256_slli_epi16(a, kCount);
    if constexpr (kCount < 0) return _mm256_srli_epi16(a, -kCount);
  }
  /// The same in whole lanes, with the sign.
  template <int kCount>
  MINFER_INLINE static Int shift_lanes(Int a) {
    if constexpr (kCount >= 0) return _mm256_slli_epi32(a, kCount);
    if constexpr (kCount < 0) return _mm256_srai_epi32(a, -kCount);
  }
  MINFER_INLINE static Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
  MINFER_INLINE static Int mul_lanes(Int a, Int b) { return _mm256_mullo_epi32(a, b); }

  MINFER_INLINE static Int broadcast4(const void* from) {
    int word = 0;
    __builtin_memcpy(&word, from, 4);
    return _mm256_set1_epi32(word);
  }
  /// sum + the 4 products u8 x s8 of every lane.
  MINFER_INLINE static Int dot(Int sum, Int codes, Int x) {
#if defined(__AVX512VNNI__)
    return _mm256_dpbusd_epi32(sum, codes, x);
#else
    return _mm256_dpbusd_avx_epi32(sum, codes, x);
#endif
  }
  /// sum + the two 16-bit numbers at `from`, in every lane.
  MINFER_INLINE static Int add_pair(Int sum, const std::int16_t* from) {
#if defined(__AVX512VNNI__)
    return _mm256_dpwssd_epi32(sum, broadcast4(from), _mm256_set1_epi16(1));
#else
    return _mm256_dpwssd_avx_epi32(sum, broadcast4(from), _mm256_set1_epi16(1));
#endif
  }

  MINFER_INLINE static Float to_floats(Int a) { return _mm256_cvtepi32_ps(a); }
  MINFER_INLINE static Float broadcast(const float* x) { return _mm256_broadcast_ss(x); }
  MINFER_INLINE static Float neg(Float a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0F)); }
  MINFER_INLINE static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  MINFER_INLINE static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }

  /// The first n_lanes floats: a tile may reach past the last row.
  MINFER_INLINE static void store(float* to, Float value, std::int64_t n_lanes) {
    if (n_lanes >= kTileLanes) {
      _mm256_storeu_ps(to, value);
      return;
    }
    alignas(32) float lanes[kTileLanes];
    _mm256_store_ps(lanes, value);
    for (std::int64_t i = 0; i < n_lanes; ++i) to[i] = lanes[i];
  }
  MINFER_INLINE static Float load_floats(const float* from, std::int64_t n_lanes) {
    if (n_lanes >= kTileLanes) return _mm256_loadu_ps(from);
    alignas(32) float lanes[kTileLanes] = {};
    for (std::int64_t i = 0; i < n_lanes; ++i) lanes[i] = from[i];
    return _mm256_load_ps(lanes);
  }
};

}  // namespace
}  // namespace minfer::cpu
