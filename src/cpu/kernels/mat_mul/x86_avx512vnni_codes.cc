// Products of interleaved tiles of the types of quant/codes.h with Q8A rows in AVX-512 VNNI.

#include "cpu/kernels/mat_mul/dot_codes.h"
#include "cpu/kernels/mat_mul/dot_product.h"
#include "cpu/kernels/mat_mul/x86_dot_vector256.h"
#include "cpu/kernels/mat_mul/x86_dot_vector512.h"

namespace minfer::cpu {

#define MINFER_DOT_MAT_MUL(function, type)                                                \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) { \
    mat_mul<Vector512, Vector256, type>(args, tile_begin, tile_end);                      \
  }
MINFER_DOT_MAT_MUL(mat_mul_q3_k_q8a_avx512vnni, Q3_K)
MINFER_DOT_MAT_MUL(mat_mul_iq4_nl_q8a_avx512vnni, IQ4_NL)
MINFER_DOT_MAT_MUL(mat_mul_iq4_xs_q8a_avx512vnni, IQ4_XS)
MINFER_DOT_MAT_MUL(mat_mul_mxfp4_q8a_avx512vnni, MXFP4)
MINFER_DOT_MAT_MUL(mat_mul_tq2_0_q8a_avx512vnni, TQ2_0)
#undef MINFER_DOT_MAT_MUL

}  // namespace minfer::cpu
