// Products of interleaved tiles with Q8A rows in AVX-VNNI.

#include "cpu/kernels/mat_mul/dot_product.h"
#include "cpu/kernels/mat_mul/x86_dot_vector256.h"

namespace minfer::cpu {

#define MINFER_DOT_MAT_MUL(function, type)                                                \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) { \
    mat_mul<Vector256, Vector256, type>(args, tile_begin, tile_end);                      \
  }
MINFER_DOT_MAT_MUL(mat_mul_q4_0_q8a_avxvnni, Q4_0)
MINFER_DOT_MAT_MUL(mat_mul_q4_1_q8a_avxvnni, Q4_1)
MINFER_DOT_MAT_MUL(mat_mul_q5_0_q8a_avxvnni, Q5_0)
MINFER_DOT_MAT_MUL(mat_mul_q5_1_q8a_avxvnni, Q5_1)
MINFER_DOT_MAT_MUL(mat_mul_q8_0_q8a_avxvnni, Q8_0)
MINFER_DOT_MAT_MUL(mat_mul_q4_k_q8a_avxvnni, Q4_K)
MINFER_DOT_MAT_MUL(mat_mul_q5_k_q8a_avxvnni, Q5_K)
MINFER_DOT_MAT_MUL(mat_mul_q6_k_q8a_avxvnni, Q6_K)
#undef MINFER_DOT_MAT_MUL

}  // namespace minfer::cpu
