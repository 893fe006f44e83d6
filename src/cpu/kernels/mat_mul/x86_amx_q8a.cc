// Products of interleaved tiles with many Q8A rows in AMX int8; few rows go to AVX-512 VNNI.

#include "cpu/kernels/mat_mul/dot_codes.h"
#include "cpu/kernels/mat_mul/x86_amx_product.h"
#include "cpu/kernels/mat_mul/x86_amx_unit.h"
#include "cpu/kernels/mat_mul/x86_dot_vector512.h"

namespace minfer::cpu {

#define MINFER_AMX_MAT_MUL(type, name)                                                          \
  void mat_mul_##name##_q8a_amx(const MatMulArgs& args, std::int64_t begin, std::int64_t end) { \
    if (args.n_x < kAmxRows) return mat_mul_##name##_q8a_avx512vnni(args, begin, end);          \
    amx_panels<AmxUnit, Vector512, type>(args, begin, end);                                     \
  }
MINFER_AMX_MAT_MUL(Q4_0, q4_0)
MINFER_AMX_MAT_MUL(Q4_1, q4_1)
MINFER_AMX_MAT_MUL(Q5_0, q5_0)
MINFER_AMX_MAT_MUL(Q5_1, q5_1)
MINFER_AMX_MAT_MUL(Q8_0, q8_0)
MINFER_AMX_MAT_MUL(Q4_K, q4_k)
MINFER_AMX_MAT_MUL(Q5_K, q5_k)
MINFER_AMX_MAT_MUL(Q6_K, q6_k)
MINFER_AMX_MAT_MUL(Q3_K, q3_k)
MINFER_AMX_MAT_MUL(IQ4_NL, iq4_nl)
MINFER_AMX_MAT_MUL(IQ4_XS, iq4_xs)
MINFER_AMX_MAT_MUL(MXFP4, mxfp4)
MINFER_AMX_MAT_MUL(TQ2_0, tq2_0)
#undef MINFER_AMX_MAT_MUL

}  // namespace minfer::cpu
