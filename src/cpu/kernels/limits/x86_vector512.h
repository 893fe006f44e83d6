// The loops of limits.h over 512-bit vectors, for the files of AVX-512.
//
// Everything here has internal linkage: each file compiles it for its own instruction set.
#pragma once

#include <immintrin.h>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/limits/limits.h"

namespace minfer::cpu {
namespace {

inline constexpr int kSums512 = 12;  // two instructions a cycle, up to five cycles each

/// To the compiler each is another value, or it would compute one sum in place of all.
template <class Vector, int n>
MINFER_INLINE void differ(Vector (&sums)[n]) {
  MINFER_UNROLL
  for (int i = 0; i < n; ++i) asm volatile("" : "+v"(sums[i]));
}

MINFER_INLINE std::uint64_t low_word(__m512i v) {
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm512_castsi512_si128(v)));
}

[[maybe_unused]] std::uint64_t read_512(const std::byte* from, std::int64_t n_bytes) {
  __m512i sums[8] = {};
  for (std::int64_t at = 0; at < n_bytes; at += 512) {
    MINFER_UNROLL
    for (int i = 0; i < 8; ++i) {
      sums[i] = _mm512_xor_si512(sums[i], _mm512_load_si512(from + at + 64 * i));
    }
  }
  MINFER_UNROLL
  for (int i = 1; i < 8; ++i) sums[0] = _mm512_xor_si512(sums[0], sums[i]);
  return low_word(sums[0]);
}

[[maybe_unused]] std::uint64_t float32_512(std::int64_t rounds) {
  __m512 x = _mm512_setzero_ps();
  __m512 sums[kSums512] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(x));
    MINFER_UNROLL
    for (int i = 0; i < kSums512; ++i) sums[i] = _mm512_fmadd_ps(x, x, sums[i]);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums512; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return low_word(_mm512_castps_si512(sums[0]));
}

}  // namespace
}  // namespace minfer::cpu
