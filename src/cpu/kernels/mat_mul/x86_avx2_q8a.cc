// Products of interleaved tiles with Q8A rows in AVX2, FMA and F16C.

#include "cpu/kernels/mat_mul/x86_avx2_product.h"
#include "cpu/kernels/mat_mul/x86_avx2_types.h"

namespace minfer::cpu {

#define MINFER_AVX2_MAT_MUL(function, type)                                               \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) { \
    mat_mul<type>(args, tile_begin, tile_end);                                            \
  }
MINFER_AVX2_MAT_MUL(mat_mul_q4_0_q8a_avx2, Q4_0)
MINFER_AVX2_MAT_MUL(mat_mul_q4_1_q8a_avx2, Q4_1)
MINFER_AVX2_MAT_MUL(mat_mul_q5_0_q8a_avx2, Q5_0)
MINFER_AVX2_MAT_MUL(mat_mul_q5_1_q8a_avx2, Q5_1)
MINFER_AVX2_MAT_MUL(mat_mul_q8_0_q8a_avx2, Q8_0)
MINFER_AVX2_MAT_MUL(mat_mul_q4_k_q8a_avx2, Q4_K)
MINFER_AVX2_MAT_MUL(mat_mul_q5_k_q8a_avx2, Q5_K)
MINFER_AVX2_MAT_MUL(mat_mul_q6_k_q8a_avx2, Q6_K)
#undef MINFER_AVX2_MAT_MUL

}  // namespace minfer::cpu
