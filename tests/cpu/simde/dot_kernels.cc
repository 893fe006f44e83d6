// The matrix kernels of AVX-VNNI, AVX-512 VNNI and AMX int8 on any machine: SIMDe's vectors,
// emulated tiles.

#include "cpu/kernels/mat_mul/dot_codes.h"
#include "cpu/kernels/mat_mul/x86_amx_product.h"
#include "cpu/kernels/mat_mul/x86_dot_vector256.h"
#include "cpu/kernels/mat_mul/x86_dot_vector512.h"
#include "tests/cpu/amx_emulation.h"
#include "tests/cpu/emulated_kernels.h"

namespace minfer::cpu {
namespace {

template <class Type>
void emulated_amx(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  amx_panels<EmulatedAmx, Vector512, Type>(args, tile_begin, tile_end);
}

}  // namespace

std::vector<MatMulEntry> emulated_dot_kernels() {
  return {
#define MINFER_ENTRY(type, name, isa, ...)                                \
  {DType::k##type, Isa::kScalar, WeightLayout::kInterleaved, __VA_ARGS__, \
   #name "_" #isa "_emulated"},
#define MINFER_TYPE(type, name)                                             \
  MINFER_ENTRY(type, name, avxvnni, mat_mul<Vector256, Vector256, type>)    \
  MINFER_ENTRY(type, name, avx512vnni, mat_mul<Vector512, Vector256, type>) \
  MINFER_ENTRY(type, name, amx, emulated_amx<type>)
      MINFER_TYPE(Q4_0, q4_0) MINFER_TYPE(Q4_1, q4_1) MINFER_TYPE(Q5_0, q5_0) MINFER_TYPE(
          Q5_1, q5_1) MINFER_TYPE(Q8_0, q8_0) MINFER_TYPE(Q4_K, q4_k) MINFER_TYPE(Q5_K, q5_k)
          MINFER_TYPE(Q6_K, q6_k) MINFER_TYPE(Q3_K, q3_k) MINFER_TYPE(IQ4_NL, iq4_nl)
              MINFER_TYPE(IQ4_XS, iq4_xs) MINFER_TYPE(MXFP4, mxfp4) MINFER_TYPE(TQ2_0, tq2_0)
#undef MINFER_TYPE
#undef MINFER_ENTRY
  };
}

}  // namespace minfer::cpu
