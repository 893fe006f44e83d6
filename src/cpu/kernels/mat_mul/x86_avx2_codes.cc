// Products of interleaved tiles of the types of quant/codes.h with Q8A rows in AVX2.

#include "cpu/kernels/mat_mul/x86_avx2_codes.h"

#include "cpu/kernels/mat_mul/x86_avx2_product.h"

namespace minfer::cpu {

#define MINFER_AVX2_MAT_MUL(function, type)                                               \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) { \
    mat_mul<type>(args, tile_begin, tile_end);                                            \
  }
MINFER_AVX2_MAT_MUL(mat_mul_q2_k_q8a_avx2, Q2_K)
MINFER_AVX2_MAT_MUL(mat_mul_q3_k_q8a_avx2, Q3_K)
MINFER_AVX2_MAT_MUL(mat_mul_iq4_nl_q8a_avx2, IQ4_NL)
MINFER_AVX2_MAT_MUL(mat_mul_iq4_xs_q8a_avx2, IQ4_XS)
MINFER_AVX2_MAT_MUL(mat_mul_mxfp4_q8a_avx2, MXFP4)
MINFER_AVX2_MAT_MUL(mat_mul_tq2_0_q8a_avx2, TQ2_0)
#undef MINFER_AVX2_MAT_MUL

}  // namespace minfer::cpu
