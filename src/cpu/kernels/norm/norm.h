// RMS norm of one row.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace minfer::cpu {

struct NormKernels {
  /// y[i] = (x[i] * inv) * weight[i], inv = 1 / sqrt(mean(x^2) + eps) (Zhang and Sennrich, 2019,
  /// "Root Mean Square Layer Normalization"). y may be x.
  void (*rms_norm)(const float* x, const float* weight, float* y, std::int64_t n, float eps);
};

/// The kernels for `isa`, or for the best set below it that has any.
const NormKernels& norm_kernels(Isa isa);

}  // namespace minfer::cpu
