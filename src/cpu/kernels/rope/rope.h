// Rotation of the heads of one row by angles from a table.
#pragma once

#include <cstdint>

#include "cpu/isa.h"
#include "ir/attrs.h"

namespace minfer::cpu {

struct RopeKernels {
  /// Rotates the first n_rot elements of each of n_head heads of head_dim elements, pair i by
  /// (cosine[i], sine[i]), i < n_rot / 2, and copies the others. `to` may be x.
  void (*rope)(ir::RopeMode mode, const float* x, float* to, std::int32_t n_head,
               std::int32_t head_dim, std::int32_t n_rot, const float* cosine, const float* sine);
};

/// The kernels for `isa`, or for the best set below it that has any.
const RopeKernels& rope_kernels(Isa isa);

}  // namespace minfer::cpu
