#include "cpu/kernels/limits/limits.h"
#include "cpu/kernels/limits/x86_vector512.h"

namespace minfer::cpu {
namespace {

std::uint64_t int8_avx512vnni(std::int64_t rounds) {
  __m512i x = _mm512_setzero_si512();
  __m512i sums[kSums512] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(x));
    MINFER_UNROLL
    for (int i = 0; i < kSums512; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], x, x);
  }
  MINFER_UNROLL
  for (int i = 1; i < kSums512; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return low_word(sums[0]);
}

}  // namespace

extern const LimitKernels kLimitsAvx512Vnni;
constinit const LimitKernels kLimitsAvx512Vnni = {.read = read_512,
                                                  .int8 = int8_avx512vnni,
                                                  .int8_madds = kSums512 * 64,
                                                  .float32 = float32_512,
                                                  .float32_madds = kSums512 * 16};

}  // namespace minfer::cpu
