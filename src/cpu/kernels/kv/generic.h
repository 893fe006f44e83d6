// Narrowing and widening of K and V over any lanes type; internal linkage, one copy an instruction
// set.
#pragma once

#include <cstdint>

#include "cpu/kernels/kv/kv.h"
#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

template <class V>
void narrow_f16(const float* from, std::uint16_t* to, std::int32_t n) {
  std::int32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) V::load(from + i).store_f16(to + i);
  if (i < n) {
    std::uint16_t padded[kLanes];
    V::load_n(from + i, n - i).store_f16(padded);
    for (int j = 0; i < n; ++i, ++j) to[i] = padded[j];
  }
}

template <class V>
void widen_f16(const std::uint16_t* from, std::int64_t from_stride, float* to,
               std::int64_t to_stride, std::int32_t n_rows, std::int32_t n) {
  for (std::int32_t r = 0; r < n_rows; ++r, from += from_stride, to += to_stride) {
    for (std::int32_t i = 0; i < n; i += kLanes) V::load_f16(from + i).store(to + i);
  }
}

template <class V>
void widen_q8_k(const std::int8_t* q, const std::uint16_t* scales, float* to, std::int32_t head_dim,
                std::int32_t n) {
  constexpr int kRow = 64;
  for (std::int32_t j = 0; j < n; j += kLanes) {
    for (std::int32_t d = 0; d < head_dim; d += 32) {
      const V scale = V::load_f16(scales + d / 32 * kRow + j);
      for (std::int32_t i = d; i < d + 32; ++i) {
        V::mul(scale, V::load_i8(q + i * kRow + j)).store(to + i * kRow + j);
      }
    }
  }
}

template <class V>
void widen_q8_v(const std::int8_t* q, const std::uint16_t* scales, float* to, std::int64_t stride,
                std::int32_t n_rows, std::int32_t head_dim) {
  for (std::int32_t r = 0; r < n_rows; ++r, q += stride, to += stride) {
    for (std::int32_t d = 0; d < head_dim; d += 32) {
      const V scale = V::broadcast_f16(*scales++);
      V::mul(scale, V::load_i8(q + d)).store(to + d);
      V::mul(scale, V::load_i8(q + d + kLanes)).store(to + d + kLanes);
    }
  }
}

template <class V>
constexpr KvKernels make_kv_kernels() {
  return {.narrow_f16 = narrow_f16<V>,
          .widen_f16 = widen_f16<V>,
          .widen_q8_k = widen_q8_k<V>,
          .widen_q8_v = widen_q8_v<V>};
}

}  // namespace
}  // namespace minfer::cpu
