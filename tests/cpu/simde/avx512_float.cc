// The float matrix kernels of AVX512 on any machine, in SIMDe's vectors, under names of their own.

#define mat_mul_f32_f32_avx512 emulated_f32_avx512
#define mat_mul_f16_f32_avx512 emulated_f16_avx512
#define mat_mul_bf16_f32_avx512 emulated_bf16_avx512
#include "cpu/kernels/mat_mul/x86_avx512_float.cc"
#include "tests/cpu/emulated_kernels.h"

namespace minfer::cpu {

std::vector<MatMulEntry> emulated_avx512_float_kernels() {
  return {
      {DType::kF32, Isa::kScalar, WeightLayout::kPlain, emulated_f32_avx512, "f32_avx512_emulated"},
      {DType::kF16, Isa::kScalar, WeightLayout::kPlain, emulated_f16_avx512, "f16_avx512_emulated"},
      {DType::kBF16, Isa::kScalar, WeightLayout::kPlain, emulated_bf16_avx512,
       "bf16_avx512_emulated"}};
}

}  // namespace minfer::cpu
