#include "cpu/kernels/limits/arm_vector128.h"
#include "cpu/kernels/limits/limits.h"

namespace minfer::cpu {
namespace {

/// Products summed in 16 bits: the least that a product without dot products can do.
std::uint64_t int8_neon(std::int64_t rounds) {
  int8x16_t x[1] = {};
  int16x8_t sums[kSums128] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    differ(x);
    MINFER_UNROLL
    for (int i = 0; i < kSums128; ++i) sums[i] = vmlal_high_s8(sums[i], x[0], x[0]);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums128; ++i) sums[0] = vaddq_s16(sums[0], sums[i]);
  return vgetq_lane_u64(vreinterpretq_u64_s16(sums[0]), 0);
}

}  // namespace

extern const LimitKernels kLimitsNeon;
constinit const LimitKernels kLimitsNeon = {.read = read_128,
                                            .int8 = int8_neon,
                                            .int8_madds = kSums128 * 8,
                                            .float32 = float32_128,
                                            .float32_madds = kSums128 * 4};

}  // namespace minfer::cpu
