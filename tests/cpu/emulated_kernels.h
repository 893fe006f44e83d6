// emulated_kernels.h: matrix kernels of instruction sets that this machine may lack, compiled
// through SIMDe (tests/cpu/simde).
#pragma once

#include <vector>

#include "cpu/kernels/mat_mul/kernels.h"

namespace minfer::cpu {

/// `isa` of the entries is kScalar: they run everywhere.
std::vector<MatMulEntry> emulated_dot_kernels();

}  // namespace minfer::cpu
