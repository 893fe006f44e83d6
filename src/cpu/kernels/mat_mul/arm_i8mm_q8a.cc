// Products of interleaved tiles with Q8A rows in I8MM: two rows of x meet two weight rows an
// instruction. One row of x goes to the dot products.

#include "cpu/kernels/mat_mul/arm_vector.h"
#include "cpu/kernels/mat_mul/dot_codes.h"
#include "cpu/kernels/mat_mul/dot_product.h"

namespace minfer::cpu {
namespace {

struct ArmI8mm : ArmVector {
  static constexpr bool kRowPairs = true;
  static constexpr int kPanelVectors = 1;
  static constexpr int rows_at_once(int) { return 4; }
  static constexpr int kMostFusedRows = 4;

  /// sum + the 4 products s8 x s8 of every lane.
  MINFER_INLINE static Int dot(Int sum, Int codes, Int x) {
    return {vdotq_s32(sum.lo, s8(codes.lo), s8(x.lo)), vdotq_s32(sum.hi, s8(codes.hi), s8(x.hi))};
  }
  /// The sums of 4 steps of codes with 16 elements of each of two rows.
  MINFER_INLINE static void dot_pair(const Int (&codes)[4], const std::int8_t* x0,
                                     const std::int8_t* x1, Int& sum0, Int& sum1) {
    int32x4_t sums[4];  // of weight rows 2 i, 2 i + 1: first with x0, x1, then second
    for (int32x4_t& sum : sums) sum = vdupq_n_s32(0);
    MINFER_UNROLL
    for (int j = 0; j < 2; ++j) {
      const int8x16_t x = vcombine_s8(vld1_s8(x0 + 8 * j), vld1_s8(x1 + 8 * j));
      const Int& first = codes[2 * j];
      const Int& second = codes[2 * j + 1];
      sums[0] = vmmlaq_s32(sums[0], s8(vzip1q_s32(first.lo, second.lo)), x);
      sums[1] = vmmlaq_s32(sums[1], s8(vzip2q_s32(first.lo, second.lo)), x);
      sums[2] = vmmlaq_s32(sums[2], s8(vzip1q_s32(first.hi, second.hi)), x);
      sums[3] = vmmlaq_s32(sums[3], s8(vzip2q_s32(first.hi, second.hi)), x);
    }
    sum0 = {vuzp1q_s32(sums[0], sums[1]), vuzp1q_s32(sums[2], sums[3])};
    sum1 = {vuzp2q_s32(sums[0], sums[1]), vuzp2q_s32(sums[2], sums[3])};
  }
};

}  // namespace

#define MINFER_ARM_MAT_MUL(type, name)                                                  \
  void mat_mul_##name##_q8a_i8mm(const MatMulArgs& args, std::int64_t tile_begin,       \
                                 std::int64_t tile_end) {                               \
    if (args.n_x == 1) return mat_mul_##name##_q8a_dotprod(args, tile_begin, tile_end); \
    mat_mul<ArmI8mm, ArmI8mm, type>(args, tile_begin, tile_end);                        \
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
