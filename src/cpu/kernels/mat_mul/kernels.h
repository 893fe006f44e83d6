// kernels.h: the table of matrix kernels (kernels.inc) as declarations.
//
// Thread-safety: constants.
#pragma once

#include <cstdint>
#include <span>

#include "cpu/isa.h"
#include "cpu/mat_mul.h"

namespace minfer::cpu {

/// Computes the columns of the tiles [tile_begin, tile_end).
using MatMulKernel = void (*)(const MatMulArgs& args, std::int64_t tile_begin,
                              std::int64_t tile_end);

enum class WeightLayout : std::uint8_t { kPlain, kInterleaved };

#define MINFER_MAT_MUL(dtype, isa, layout, function) \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end);
#include "cpu/kernels/mat_mul/kernels.inc"
#undef MINFER_MAT_MUL

/// A row of kernels.inc.
struct MatMulEntry {
  DType dtype;
  Isa isa;
  WeightLayout layout;
  MatMulKernel kernel;
  const char* name;
};
std::span<const MatMulEntry> mat_mul_kernels();

}  // namespace minfer::cpu
