// RoPE over any lanes type; internal linkage, one copy an instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"
#include "ir/attrs.h"

namespace minfer::cpu {
namespace {

template <class V>
MINFER_INLINE void rotate(V& x0, V& x1, V c, V s) {
  const V y0 = V::fma(x0, c, V::neg(V::mul(x1, s)));
  const V y1 = V::fma(x0, s, V::mul(x1, c));
  x0 = y0;
  x1 = y1;
}

template <class V>
void rope_head_neox(const float* x, float* to, int half, const float* cosine, const float* sine) {
  int i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    V x0 = V::load(x + i);
    V x1 = V::load(x + half + i);
    rotate(x0, x1, V::load(cosine + i), V::load(sine + i));
    x0.store(to + i);
    x1.store(to + half + i);
  }
  if (const int rest = half - i; rest > 0) {
    V x0 = V::load_n(x + i, rest);
    V x1 = V::load_n(x + half + i, rest);
    rotate(x0, x1, V::load_n(cosine + i, rest), V::load_n(sine + i, rest));
    x0.store_n(to + i, rest);
    x1.store_n(to + half + i, rest);
  }
}

template <class V>
void rope_head_normal(const float* x, float* to, int half, const float* cosine, const float* sine) {
  int i = 0;
  V x0;
  V x1;
  for (; i + kLanes <= half; i += kLanes) {
    V::load_pairs(x + 2 * i, x0, x1);
    rotate(x0, x1, V::load(cosine + i), V::load(sine + i));
    V::store_pairs(to + 2 * i, x0, x1);
  }
  if (const int rest = half - i; rest > 0) {
    float padded[2 * kLanes] = {};
    for (int j = 0; j < 2 * rest; ++j) padded[j] = x[2 * i + j];
    V::load_pairs(padded, x0, x1);
    rotate(x0, x1, V::load_n(cosine + i, rest), V::load_n(sine + i, rest));
    V::store_pairs(padded, x0, x1);
    for (int j = 0; j < 2 * rest; ++j) to[2 * i + j] = padded[j];
  }
}

template <class V>
void rope(ir::RopeMode mode, const float* x, float* to, std::int32_t n_head, std::int32_t head_dim,
          std::int32_t n_rot, const float* cosine, const float* sine) {
  for (std::int32_t head = 0; head < n_head; ++head, x += head_dim, to += head_dim) {
    if (mode == ir::RopeMode::kNeox) {
      rope_head_neox<V>(x, to, n_rot / 2, cosine, sine);
    } else {
      rope_head_normal<V>(x, to, n_rot / 2, cosine, sine);
    }
    for (std::int32_t i = n_rot; i < head_dim; ++i) to[i] = x[i];
  }
}

}  // namespace
}  // namespace minfer::cpu
