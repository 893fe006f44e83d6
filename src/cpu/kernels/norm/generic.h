// RMS norm over any lanes type; internal linkage, one copy an instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

template <class V>
void rms_norm(const float* x, const float* weight, float* y, std::int64_t n, float eps) {
  const std::int64_t whole = n & ~std::int64_t{kLanes - 1};
  const int rest = static_cast<int>(n - whole);
  V squares = V::zero();
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    const V a = V::load(x + i);
    squares = V::fma(a, a, squares);
  }
  if (rest > 0) {
    const V a = V::load_n(x + whole, rest);
    squares = V::fma(a, a, squares);
  }
  const float mean = V::sum(squares) / static_cast<float>(n);
  const V inv = V::set1(1.0F / __builtin_sqrtf(mean + eps));
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    V::mul(V::mul(V::load(x + i), inv), V::load(weight + i)).store(y + i);
  }
  if (rest > 0) {
    V::mul(V::mul(V::load_n(x + whole, rest), inv), V::load_n(weight + whole, rest))
        .store_n(y + whole, rest);
  }
}

}  // namespace
}  // namespace minfer::cpu
