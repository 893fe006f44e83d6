// rows.h: where the rows of x and y of a product stand. Internal linkage, as every file of kernels
// needs it.
//
// Thread-safety: pure functions.
#pragma once

#include "cpu/mat_mul.h"

namespace minfer::cpu {
namespace {

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// Row i of x, of elements or blocks of type X.
template <class X>
const X* x_row(const MatMulArgs& args, std::int64_t i) {
  const std::int64_t row = args.x_rows != nullptr ? args.x_rows[i] : i;
  return reinterpret_cast<const X*>(args.x + row * args.x_stride);
}
inline float* y_row(const MatMulArgs& args, std::int64_t i) {
  const std::int64_t row = args.y_rows != nullptr ? args.y_rows[i] : i;
  return args.y + row * args.y_stride - args.column_base;
}

}  // namespace
}  // namespace minfer::cpu
