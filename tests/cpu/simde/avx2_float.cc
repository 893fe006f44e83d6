// The float matrix kernels of AVX2 on any machine, in SIMDe's vectors, under names of their own.

#define mat_mul_f32_f32_avx2 emulated_f32_avx2
#define mat_mul_f16_f32_avx2 emulated_f16_avx2
#define mat_mul_bf16_f32_avx2 emulated_bf16_avx2
#include "cpu/kernels/mat_mul/x86_avx2_float.cc"
#include "tests/cpu/emulated_kernels.h"

namespace minfer::cpu {

std::vector<MatMulEntry> emulated_avx2_float_kernels() {
  return {
      {DType::kF32, Isa::kScalar, WeightLayout::kPlain, emulated_f32_avx2, "f32_avx2_emulated"},
      {DType::kF16, Isa::kScalar, WeightLayout::kPlain, emulated_f16_avx2, "f16_avx2_emulated"},
      {DType::kBF16, Isa::kScalar, WeightLayout::kPlain, emulated_bf16_avx2, "bf16_avx2_emulated"}};
}

}  // namespace minfer::cpu
