// The quantised matrix kernels of AVX2 on any machine, in SIMDe's vectors.

#include "cpu/kernels/mat_mul/x86_avx2_codes.h"
#include "cpu/kernels/mat_mul/x86_avx2_product.h"
#include "tests/cpu/emulated_kernels.h"

namespace minfer::cpu {

std::vector<MatMulEntry> emulated_avx2_kernels() {
  return {
#define MINFER_TYPE(type, name) \
  {DType::k##type, Isa::kScalar, WeightLayout::kInterleaved, mat_mul<type>, #name "_avx2_emulated"},
      MINFER_TYPE(Q4_0, q4_0) MINFER_TYPE(Q4_1, q4_1) MINFER_TYPE(Q5_0, q5_0)
          MINFER_TYPE(Q5_1, q5_1) MINFER_TYPE(Q8_0, q8_0) MINFER_TYPE(Q4_K, q4_k)
              MINFER_TYPE(Q5_K, q5_k) MINFER_TYPE(Q6_K, q6_k) MINFER_TYPE(Q2_K, q2_k)
                  MINFER_TYPE(Q3_K, q3_k) MINFER_TYPE(IQ4_NL, iq4_nl) MINFER_TYPE(IQ4_XS, iq4_xs)
                      MINFER_TYPE(MXFP4, mxfp4) MINFER_TYPE(TQ2_0, tq2_0) MINFER_TYPE(IQ3_S, iq3_s)
                          MINFER_TYPE(IQ3_XXS, iq3_xxs) MINFER_TYPE(IQ2_S, iq2_s)
                              MINFER_TYPE(IQ2_XS, iq2_xs) MINFER_TYPE(IQ2_XXS, iq2_xxs)
                                  MINFER_TYPE(IQ1_S, iq1_s) MINFER_TYPE(IQ1_M, iq1_m)
#undef MINFER_TYPE
  };
}

}  // namespace minfer::cpu
