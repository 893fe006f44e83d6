#include "cpu/kernels/limits/limits.h"
#include "cpu/kernels/limits/x86_vector512.h"

namespace minfer::cpu {
namespace {

constexpr int kSumsInt8 = 6;  // the addition takes one cycle

/// Pairs of products in 16 bits, summed there: the least that a product without VNNI can do.
std::uint64_t int8_avx512(std::int64_t rounds) {
  const __m512i y = _mm512_set1_epi8(1);
  __m512i x[kSumsInt8] = {};
  __m512i sums[kSumsInt8] = {};
  differ(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    differ(x);  // or the products would be computed once
    MINFER_UNROLL
    for (int i = 0; i < kSumsInt8; ++i) {
      sums[i] = _mm512_add_epi16(sums[i], _mm512_maddubs_epi16(x[i], y));
    }
  }
  MINFER_UNROLL
  for (int i = 1; i < kSumsInt8; ++i) sums[0] = _mm512_add_epi16(sums[0], sums[i]);
  return low_word(sums[0]);
}

}  // namespace

extern const LimitKernels kLimitsAvx512;
constinit const LimitKernels kLimitsAvx512 = {.read = read_512,
                                              .int8 = int8_avx512,
                                              .int8_madds = kSumsInt8 * 64,
                                              .float32 = float32_512,
                                              .float32_madds = kSums512 * 16};

}  // namespace minfer::cpu
