// The loops of limits.h over the 128-bit vectors of arm64, for the files arm_*.cc.
//
// Everything here has internal linkage: each file compiles it for its own instruction set.
#pragma once

#include <arm_neon.h>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/limits/limits.h"

namespace minfer::cpu {
namespace {

constexpr int kSums128 = 16;  // four instructions a cycle, four cycles each

/// To the compiler each is another value, or it would compute one sum in place of all.
template <class Vector, int n>
MINFER_INLINE void differ(Vector (&vectors)[n]) {
  MINFER_UNROLL
  for (int i = 0; i < n; ++i) asm volatile("" : "+w"(vectors[i]));
}

[[maybe_unused]] std::uint64_t read_128(const std::byte* from, std::int64_t n_bytes) {
  uint64x2_t sums[8] = {};
  for (std::int64_t at = 0; at < n_bytes; at += 128) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(from + at);
    MINFER_UNROLL
    for (int i = 0; i < 8; ++i) sums[i] = veorq_u64(sums[i], vld1q_u64(words + 2 * i));
  }
  MINFER_UNROLL
  for (int i = 1; i < 8; ++i) sums[0] = veorq_u64(sums[0], sums[i]);
  return vgetq_lane_u64(sums[0], 0);
}

[[maybe_unused]] std::uint64_t float32_128(std::int64_t rounds) {
  float32x4_t x[1] = {};
  float32x4_t sums[kSums128] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    differ(x);
    MINFER_UNROLL
    for (int i = 0; i < kSums128; ++i) sums[i] = vfmaq_f32(sums[i], x[0], x[0]);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums128; ++i) sums[0] = vaddq_f32(sums[0], sums[i]);
  return vgetq_lane_u64(vreinterpretq_u64_f32(sums[0]), 0);
}

}  // namespace
}  // namespace minfer::cpu
