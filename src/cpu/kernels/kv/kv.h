// Narrowing of K and V to the cache's formats and back.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace minfer::cpu {

struct KvKernels {
  /// to[i] = f16(from[i]), to nearest even.
  void (*narrow_f16)(const float* from, std::uint16_t* to, std::int32_t n);
  /// to[r * to_stride + i] = f32(from[r * from_stride + i]) for r < n_rows, i < n (a multiple of
  /// 16). Strides are in elements.
  void (*widen_f16)(const std::uint16_t* from, std::int64_t from_stride, float* to,
                    std::int64_t to_stride, std::int32_t n_rows, std::int32_t n);
  /// K of q8_0: to[d][j] = f32(scale[d / 32][j]) * q[d][j] for d < head_dim, j in n positions (a
  /// multiple of 16); rows of all three are 64 positions apart.
  void (*widen_q8_k)(const std::int8_t* q, const std::uint16_t* scales, float* to,
                     std::int32_t head_dim, std::int32_t n);
  /// V of q8_0: to[r][d] = f32(scale[r][d / 32]) * q[r][d]; rows of `to` and `q` are `stride`
  /// elements apart, those of the scales head_dim / 32.
  void (*widen_q8_v)(const std::int8_t* q, const std::uint16_t* scales, float* to,
                     std::int64_t stride, std::int32_t n_rows, std::int32_t head_dim);
};

/// The kernels for `isa`, or for the best set below it that has any.
const KvKernels& kv_kernels(Isa isa);

}  // namespace minfer::cpu
