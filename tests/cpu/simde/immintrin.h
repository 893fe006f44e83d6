// immintrin.h for kernels of instruction sets that this machine may lack: every intrinsic is plain
// C++ out of SIMDe. Found before the compiler's own header by the files of this folder alone, and
// included first: what kernels/lanes/lanes.h does for registers means nothing here.
//
// Below stand those that the kernels use and SIMDe 0.7.4 lacks or rounds twice (FMA), lane by lane
// as Intel's guide has them.
#pragma once

#define MINFER_UNROLL
#define MINFER_INLINE inline
#define MINFER_PIN(value)

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>
#pragma GCC diagnostic pop

#include <bit>
#include <cstring>

#include "base/half.h"
#include "base/soft_fma.h"

using __m256i_u = simde__m256i;
using __mmask8 = simde__mmask8;
using __mmask16 = simde__mmask16;

namespace minfer::simde {

/// The lanes of a vector as numbers of type T, and back.
template <class T, class V>
struct Lanes {
  static constexpr int kCount = sizeof(V) / sizeof(T);
  T at[kCount];
  explicit Lanes(const V& v) { std::memcpy(at, &v, sizeof v); }
  Lanes() = default;
  V vector() const {
    V v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
};

/// Lane i of the result is f of lane i of `a`.
template <class ToV, class To, class From, class FromV, class F>
ToV each(const FromV& a, F f) {
  const Lanes<From, FromV> from(a);
  Lanes<To, ToV> to;
  static_assert(Lanes<From, FromV>::kCount >= Lanes<To, ToV>::kCount);
  for (int i = 0; i < Lanes<To, ToV>::kCount; ++i) to.at[i] = f(from.at[i]);
  return to.vector();
}

template <class V>
V fmadd(const V& a, const V& b, const V& c) {
  const Lanes<float, V> x(a), y(b), z(c);
  Lanes<float, V> r;
  for (int i = 0; i < r.kCount; ++i) r.at[i] = soft_fma(x.at[i], y.at[i], z.at[i]);
  return r.vector();
}

}  // namespace minfer::simde

#undef _mm256_fmadd_ps
#undef _mm512_fmadd_ps
#undef _mm256_cvtph_ps
#undef _mm256_cvtps_ph
#define _mm256_fmadd_ps(a, b, c) minfer::simde::fmadd<simde__m256>(a, b, c)
#define _mm512_fmadd_ps(a, b, c) minfer::simde::fmadd<simde__m512>(a, b, c)
#define _mm256_cvtph_ps(a) \
  minfer::simde::each<simde__m256, float, std::uint16_t>(a, minfer::f16_to_f32)
#define _mm512_cvtph_ps(a) \
  minfer::simde::each<simde__m512, float, std::uint16_t>(a, minfer::f16_to_f32)
// Rounding to nearest is the only one asked for.
#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC
#define _mm256_cvtps_ph(a, rounding) \
  (static_cast<void>(rounding),      \
   minfer::simde::each<simde__m128i, std::uint16_t, float>(a, minfer::f32_to_f16))
#define _mm512_cvtps_ph(a, rounding) \
  (static_cast<void>(rounding),      \
   minfer::simde::each<simde__m256i, std::uint16_t, float>(a, minfer::f32_to_f16))
#define _mm256_dpbusd_avx_epi32(sum, a, b) simde_mm256_dpbusd_epi32(sum, a, b)
#define _mm256_dpwssd_avx_epi32(sum, a, b) simde_mm256_dpwssd_epi32(sum, a, b)

inline simde__m512i _mm512_cvtepu8_epi32(simde__m128i a) {
  return minfer::simde::each<simde__m512i, std::int32_t, std::uint8_t>(
      a, [](std::uint8_t x) { return std::int32_t{x}; });
}
inline simde__m512i _mm512_cvtepi8_epi32(simde__m128i a) {
  return minfer::simde::each<simde__m512i, std::int32_t, std::int8_t>(
      a, [](std::int8_t x) { return std::int32_t{x}; });
}
inline simde__m512 _mm512_cvtepi32_ps(simde__m512i a) {
  return minfer::simde::each<simde__m512, float, std::int32_t>(
      a, [](std::int32_t x) { return static_cast<float>(x); });
}
inline simde__m512i _mm512_cvtepu16_epi32(simde__m256i a) {
  return minfer::simde::each<simde__m512i, std::int32_t, std::uint16_t>(
      a, [](std::uint16_t x) { return std::int32_t{x}; });
}
inline simde__m256 _mm512_extractf32x8_ps(simde__m512 a, int half) {
  simde__m256 part;
  std::memcpy(&part, reinterpret_cast<const char*>(&a) + 32 * half, sizeof part);
  return part;
}
/// Numbers that fit; all else gives the least number, as the processor does.
inline simde__m512i _mm512_cvttps_epi32(simde__m512 a) {
  return minfer::simde::each<simde__m512i, std::int32_t, float>(a, [](float x) {
    return x > -0x1p31F && x < 0x1p31F ? static_cast<std::int32_t>(x) : INT32_MIN;
  });
}
inline simde__m512i _mm512_srai_epi32(simde__m512i a, int count) {
  return minfer::simde::each<simde__m512i, std::int32_t, std::int32_t>(
      a, [count](std::int32_t x) { return x >> count; });
}
inline void _mm512_mask_storeu_ps(void* to, simde__mmask16 mask, simde__m512 a) {
  const minfer::simde::Lanes<float, simde__m512> lanes(a);
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) std::memcpy(static_cast<float*>(to) + i, lanes.at + i, 4);
  }
}
inline simde__m512 _mm512_maskz_loadu_ps(simde__mmask16 mask, const void* from) {
  minfer::simde::Lanes<float, simde__m512> lanes(_mm512_setzero_ps());
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) std::memcpy(lanes.at + i, static_cast<const float*>(from) + i, 4);
  }
  return lanes.vector();
}
