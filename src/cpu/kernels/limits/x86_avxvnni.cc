#include "cpu/kernels/limits/limits.h"
#include "cpu/kernels/limits/x86_vector256.h"

namespace minfer::cpu {
namespace {

std::uint64_t int8_avxvnni(std::int64_t rounds) {
  __m256i x = _mm256_setzero_si256();
  __m256i sums[kSums256] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+x"(x));
    MINFER_UNROLL
    for (int i = 0; i < kSums256; ++i) sums[i] = _mm256_dpbusd_avx_epi32(sums[i], x, x);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums256; ++i) sums[0] = _mm256_add_epi32(sums[0], sums[i]);
  return low_word(sums[0]);
}

}  // namespace

extern const LimitKernels kLimitsAvxVnni;
constinit const LimitKernels kLimitsAvxVnni = {.read = read_256,
                                               .int8 = int8_avxvnni,
                                               .int8_madds = kSums256 * 32,
                                               .float32 = float32_256,
                                               .float32_madds = kSums256 * 8};

}  // namespace minfer::cpu
