// Products of interleaved tiles with Q8A rows in the dot products of Armv8.2.

#include "cpu/kernels/mat_mul/arm_vector.h"
#include "cpu/kernels/mat_mul/dot_codes.h"
#include "cpu/kernels/mat_mul/dot_product.h"

namespace minfer::cpu {
namespace {

struct ArmDotprod : ArmVector {
  /// sum + the 4 products s8 x s8 of every lane.
  MINFER_INLINE static Int dot(Int sum, Int codes, Int x) {
    return {vdotq_s32(sum.lo, s8(codes.lo), s8(x.lo)), vdotq_s32(sum.hi, s8(codes.hi), s8(x.hi))};
  }
};

}  // namespace

#define MINFER_ARM_MAT_MUL(type, name)                                               \
  void mat_mul_##name##_q8a_dotprod(const MatMulArgs& args, std::int64_t tile_begin, \
                                    std::int64_t tile_end) {                         \
    mat_mul<ArmDotprod, ArmDotprod, type>(args, tile_begin, tile_end);               \
  }
MINFER_ARM_MAT_MUL(Q4_0, q4_0)
MINFER_ARM_MAT_MUL(Q4_1, q4_1)
MINFER_ARM_MAT_MUL(Q5_0, q5_0)
MINFER_ARM_MAT_MUL(Q5_1, q5_1)
MINFER_ARM_MAT_MUL(Q8_0, q8_0)
MINFER_ARM_MAT_MUL(Q4_K, q4_k)
MINFER_ARM_MAT_MUL(Q5_K, q5_k)
MINFER_ARM_MAT_MUL(Q6_K, q6_k)
MINFER_ARM_MAT_MUL(Q3_K, q3_k)
MINFER_ARM_MAT_MUL(IQ4_NL, iq4_nl)
MINFER_ARM_MAT_MUL(IQ4_XS, iq4_xs)
MINFER_ARM_MAT_MUL(MXFP4, mxfp4)
MINFER_ARM_MAT_MUL(TQ2_0, tq2_0)
#undef MINFER_ARM_MAT_MUL

}  // namespace minfer::cpu
