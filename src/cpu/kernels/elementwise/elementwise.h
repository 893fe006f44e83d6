// Sums, products, scaling and activations of rows, element by element.
#pragma once

#include <cstdint>

#include "cpu/isa.h"
#include "ir/attrs.h"

namespace minfer::cpu {

/// Every output may be one of the inputs.
struct ElementwiseKernels {
  void (*add)(const float* x, const float* y, float* to, std::int64_t n);
  void (*mul)(const float* x, const float* y, float* to, std::int64_t n);
  void (*scale)(const float* x, float factor, float* to, std::int64_t n);
  void (*activation)(ir::Activation kind, const float* x, float* to, std::int64_t n);
  /// to = act(gate) * up (Shazeer, 2020, "GLU Variants Improve Transformer").
  void (*glu)(ir::Activation kind, const float* gate, const float* up, float* to, std::int64_t n);
  /// to = e^x, tanh(x), erf(x), for the routing softmax and for tests.
  void (*exp)(const float* x, float* to, std::int64_t n);
  void (*tanh)(const float* x, float* to, std::int64_t n);
  void (*erf)(const float* x, float* to, std::int64_t n);
  /// to = fma(factor, x, to).
  void (*add_scaled)(float factor, const float* x, float* to, std::int64_t n);
  /// to = fma(factor, state, x): one step of the toy recurrence.
  void (*decay_add)(float factor, const float* state, const float* x, float* to, std::int64_t n);
};

/// The kernels for `isa`, or for the best set below it that has any.
const ElementwiseKernels& elementwise_kernels(Isa isa);

}  // namespace minfer::cpu
