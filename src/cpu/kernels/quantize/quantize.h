// quantize.h: F32 rows to Q8A blocks, one function an instruction set (docs/arithmetic.md).
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>

#include "cpu/isa.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {

/// The least magnitude (as bits: 2^-100) that is not taken for zero: well above where 127 / amax
/// overflows.
inline constexpr std::uint32_t kLeastAmaxBits = (127u - 100u) << 23;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;

/// `x` has 32 * n_blocks floats, at any alignment.
using QuantizeKernel = void (*)(const float* x, std::int64_t n_blocks, Q8ABlock* to);
/// The best of `isa`.
QuantizeKernel quantize_kernel(Isa isa);

void quantize_f32_q8a_scalar(const float* x, std::int64_t n_blocks, Q8ABlock* to);
void quantize_f32_q8a_avx2(const float* x, std::int64_t n_blocks, Q8ABlock* to);
void quantize_f32_q8a_neon(const float* x, std::int64_t n_blocks, Q8ABlock* to);

}  // namespace minfer::cpu
