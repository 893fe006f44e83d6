// x86_dot_vector512.h: the vector policy of AVX-512 VNNI, two tiles a 512-bit register. For
// the files x86_avx512vnni*.cc alone; internal linkage.
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

struct Vector512 {
  using Int = __m512i;
  using Float = __m512;
  static constexpr int kTiles = 2;
  static constexpr bool kSignedCodes = false;
  static constexpr bool kRowPairs = false;
  static constexpr int kPanelVectors = 2;
  /// Rows of x that meet a panel of 1 or 2 vectors: sums and accumulators fill 32 registers.
  static constexpr int rows_at_once(int vectors) { return vectors == 2 ? 6 : 8; }
  /// Rows of x that meet tiles unpacked in registers; from kLeastPanelRows on panels are quicker.
  static constexpr int kMostFusedRows = 8;
  static constexpr int kLeastPanelRows = 40;

  /// 32 bytes of the tile at `from`, 32 of the next.
  MINFER_INLINE static Int load(const void* from, std::ptrdiff_t apart) {
    const char* bytes = static_cast<const char*>(from);
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + apart));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  }
  MINFER_INLINE static Float widen_f16(const std::uint16_t (&from)[kTileLanes],
                                       std::ptrdiff_t apart) {
    const char* bytes = reinterpret_cast<const char*>(from);
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + apart));
    return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1));
  }
  MINFER_INLINE static Float widen_u8(const std::uint8_t (&from)[kTileLanes],
                                      std::ptrdiff_t apart) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load_bytes(from, apart)));
  }
  MINFER_INLINE static Int widen_i8(const std::int8_t (&from)[kTileLanes], std::ptrdiff_t apart) {
    return _mm512_cvtepi8_epi32(load_bytes(from, apart));
  }

  MINFER_INLINE static Int widen_bytes(const std::uint8_t (&from)[kTileLanes],
                                       std::ptrdiff_t apart) {
    return _mm512_cvtepu8_epi32(load_bytes(from, apart));
  }
  /// 2^(e - 128): the two lowest are subnormal.
  MINFER_INLINE static Float half_power(const std::uint8_t (&from)[kTileLanes],
                                        std::ptrdiff_t apart) {
    const Int e = widen_bytes(from, apart);
    const Int one = _mm512_set1_epi32(1);
    const Int normal = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);
    const Int tiny = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
    return _mm512_castsi512_ps(
        _mm512_mask_mov_epi32(tiny, _mm512_cmpgt_epi32_mask(e, one), normal));
  }
  /// The byte of `table` that each byte's low four bits name (bit 7 must be 0).
  MINFER_INLINE static Int look_up(const std::int8_t (&table)[16], Int places) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), places);
  }
  MINFER_INLINE static Int add_bytes(Int a, int b) {
    return _mm512_add_epi8(a, _mm512_set1_epi8(static_cast<char>(b)));
  }

  MINFER_INLINE static Int zero() { return _mm512_setzero_si512(); }
  MINFER_INLINE static Float zero_floats() { return _mm512_setzero_ps(); }
  MINFER_INLINE static Int and_bytes(Int a, int mask) {
    return _mm512_and_si512(a, _mm512_set1_epi8(static_cast<char>(mask)));
  }
  MINFER_INLINE static Int or_bits(Int a, Int b) { return _mm512_or_si512(a, b); }
  MINFER_INLINE static Int add_128(Int a) {
    return _mm512_xor_si512(a, _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  /// Left by kCount bits, right if negative; bits cross bytes.
  template <int kCount>
  MINFER_INLINE static Int shift(Int a) {
    if constexpr (kCount >= 0) return _mm512_slli_epi16(a, kCount);
    if constexpr (kCount < 0) return _mm512_srli_epi16(a, -kCount);
  }
  /// The same in whole lanes, with the sign.
  template <int kCount>
  MINFER_INLINE static Int shift_lanes(Int a) {
    if constexpr (kCount >= 0) return _mm512_slli_epi32(a, kCount);
    if constexpr (kCount < 0) return _mm512_srai_epi32(a, -kCount);
  }
  MINFER_INLINE static Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
  MINFER_INLINE static Int mul_lanes(Int a, Int b) { return _mm512_mullo_epi32(a, b); }

  MINFER_INLINE static Int broadcast4(const void* from) {
    int word = 0;
    __builtin_memcpy(&word, from, 4);
    return _mm512_set1_epi32(word);
  }
  /// sum + the 4 products u8 x s8 of every lane.
  MINFER_INLINE static Int dot(Int sum, Int codes, Int x) {
    return _mm512_dpbusd_epi32(sum, codes, x);
  }
  /// sum + the two 16-bit numbers at `from`, in every lane.
  MINFER_INLINE static Int add_pair(Int sum, const std::int16_t* from) {
    return _mm512_dpwssd_epi32(sum, _mm512_set1_epi16(1), broadcast4(from));
  }

  MINFER_INLINE static Float to_floats(Int a) { return _mm512_cvtepi32_ps(a); }
  MINFER_INLINE static Float broadcast(const float* x) { return _mm512_set1_ps(*x); }
  MINFER_INLINE static Float neg(Float a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0F)); }
  MINFER_INLINE static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  MINFER_INLINE static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }

  /// The first n_lanes floats: a tile may reach past the last row.
  MINFER_INLINE static void store(float* to, Float value, std::int64_t n_lanes) {
    _mm512_mask_storeu_ps(to, first(n_lanes), value);
  }
  MINFER_INLINE static Float load_floats(const float* from, std::int64_t n_lanes) {
    return _mm512_maskz_loadu_ps(first(n_lanes), from);
  }

 private:
  MINFER_INLINE static __mmask16 first(std::int64_t n_lanes) {
    return static_cast<__mmask16>(n_lanes >= 16 ? 0xffffu : (1u << n_lanes) - 1u);
  }
  MINFER_INLINE static __m128i load_bytes(const void* from, std::ptrdiff_t apart) {
    const char* bytes = static_cast<const char*>(from);
    return _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)),
                              _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + apart)));
  }
};

}  // namespace
}  // namespace minfer::cpu
