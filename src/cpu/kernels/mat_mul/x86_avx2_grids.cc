// Products of interleaved tiles of the types with grids of entries with Q8A rows in AVX2.

#include "cpu/kernels/mat_mul/x86_avx2_codes.h"
#include "cpu/kernels/mat_mul/x86_avx2_product.h"

namespace minfer::cpu {

#define MINFER_AVX2_MAT_MUL(function, type)                                               \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) { \
    mat_mul<type>(args, tile_begin, tile_end);                                            \
  }
MINFER_AVX2_MAT_MUL(mat_mul_iq3_s_q8a_avx2, IQ3_S)
MINFER_AVX2_MAT_MUL(mat_mul_iq3_xxs_q8a_avx2, IQ3_XXS)
MINFER_AVX2_MAT_MUL(mat_mul_iq2_s_q8a_avx2, IQ2_S)
MINFER_AVX2_MAT_MUL(mat_mul_iq2_xs_q8a_avx2, IQ2_XS)
MINFER_AVX2_MAT_MUL(mat_mul_iq2_xxs_q8a_avx2, IQ2_XXS)
MINFER_AVX2_MAT_MUL(mat_mul_iq1_s_q8a_avx2, IQ1_S)
MINFER_AVX2_MAT_MUL(mat_mul_iq1_m_q8a_avx2, IQ1_M)
#undef MINFER_AVX2_MAT_MUL

}  // namespace minfer::cpu
