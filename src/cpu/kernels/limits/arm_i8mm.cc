#include "cpu/kernels/limits/arm_vector128.h"
#include "cpu/kernels/limits/limits.h"

namespace minfer::cpu {
namespace {

std::uint64_t int8_i8mm(std::int64_t rounds) {
  int8x16_t x[1] = {};
  int32x4_t sums[kSums128] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    differ(x);
    MINFER_UNROLL
    for (int i = 0; i < kSums128; ++i) sums[i] = vmmlaq_s32(sums[i], x[0], x[0]);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums128; ++i) sums[0] = vaddq_s32(sums[0], sums[i]);
  return vgetq_lane_u64(vreinterpretq_u64_s32(sums[0]), 0);
}

}  // namespace

extern const LimitKernels kLimitsI8mm;
constinit const LimitKernels kLimitsI8mm = {.read = read_128,
                                            .int8 = int8_i8mm,
                                            .int8_madds = kSums128 * 32,
                                            .float32 = float32_128,
                                            .float32_madds = kSums128 * 4};

}  // namespace minfer::cpu
