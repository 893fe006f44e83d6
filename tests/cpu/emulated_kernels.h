// emulated_kernels.h: matrix kernels of instruction sets that this machine may lack, compiled
// through SIMDe (tests/cpu/simde).
#pragma once

#include <vector>

#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {

/// `isa` of the entries is kScalar: they run everywhere.
std::vector<MatMulEntry> emulated_dot_kernels();
std::vector<MatMulEntry> emulated_avx2_kernels();
std::vector<MatMulEntry> emulated_avx2_float_kernels();
std::vector<MatMulEntry> emulated_avx512_float_kernels();

void quantize_f32_q8a_avx2_emulated(const float* x, std::int64_t n_blocks, Q8ABlock* to);

}  // namespace minfer::cpu
