// The loops of limits.h over 256-bit vectors, for the files of AVX2 and AVX-VNNI.
//
// Everything here has internal linkage: each file compiles it for its own instruction set.
#pragma once

#include <immintrin.h>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/limits/limits.h"

namespace minfer::cpu {
namespace {

inline constexpr int kSums256 = 10;  // two instructions a cycle, up to five cycles each

/// To the compiler each is another value, or it would compute one sum in place of all.
template <class Vector, int n>
MINFER_INLINE void differ(Vector (&sums)[n]) {
  MINFER_UNROLL
  for (int i = 0; i < n; ++i) asm volatile("" : "+x"(sums[i]));
}

MINFER_INLINE std::uint64_t low_word(__m256i v) {
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(v)));
}

[[maybe_unused]] std::uint64_t read_256(const std::byte* from, std::int64_t n_bytes) {
  __m256i sums[8] = {};
  for (std::int64_t at = 0; at < n_bytes; at += 256) {
    MINFER_UNROLL
    for (int i = 0; i < 8; ++i) {
      const auto* p = reinterpret_cast<const __m256i*>(from + at) + i;
      sums[i] = _mm256_xor_si256(sums[i], _mm256_load_si256(p));
    }
  }
  MINFER_UNROLL
  for (int i = 1; i < 8; ++i) sums[0] = _mm256_xor_si256(sums[0], sums[i]);
  return low_word(sums[0]);
}

[[maybe_unused]] std::uint64_t float32_256(std::int64_t rounds) {
  __m256 x = _mm256_setzero_ps();
  __m256 sums[kSums256] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+x"(x));
    MINFER_UNROLL
    for (int i = 0; i < kSums256; ++i) sums[i] = _mm256_fmadd_ps(x, x, sums[i]);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums256; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return low_word(_mm256_castps_si256(sums[0]));
}

}  // namespace
}  // namespace minfer::cpu
