// Elementwise operations over any lanes type; internal linkage, one copy an instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/math/functions.h"

namespace minfer::cpu {
namespace {

/// to[i] = f(x[i], y[i]); the tail runs the same steps on lanes padded with +0.
template <class V, class F>
void map2(const float* x, const float* y, float* to, std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(V::load(x + i), V::load(y + i)).store(to + i);
  if (const int rest = static_cast<int>(n - i); rest > 0) {
    f(V::load_n(x + i, rest), V::load_n(y + i, rest)).store_n(to + i, rest);
  }
}
template <class V, class F>
void map1(const float* x, float* to, std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(V::load(x + i)).store(to + i);
  if (const int rest = static_cast<int>(n - i); rest > 0) {
    f(V::load_n(x + i, rest)).store_n(to + i, rest);
  }
}

template <class V>
void add(const float* x, const float* y, float* to, std::int64_t n) {
  map2<V>(x, y, to, n, [](V a, V b) { return V::add(a, b); });
}
template <class V>
void mul(const float* x, const float* y, float* to, std::int64_t n) {
  map2<V>(x, y, to, n, [](V a, V b) { return V::mul(a, b); });
}
template <class V>
void scale(const float* x, float factor, float* to, std::int64_t n) {
  const V f = V::set1(factor);
  map1<V>(x, to, n, [f](V a) { return V::mul(a, f); });
}

template <class V>
MINFER_INLINE V silu(V x) {
  return V::div(x, V::add(V::set1(1.0F), exp_lanes(V::neg(x))));
}
template <class V>
MINFER_INLINE V gelu_tanh(V x) {
  const V inner = V::fma(V::mul(V::set1(0.044715F), x), V::mul(x, x), x);
  const V t = tanh_lanes(V::mul(V::set1(0.79788456F), inner));
  return V::mul(V::mul(V::set1(0.5F), x), V::add(V::set1(1.0F), t));
}
template <class V>
MINFER_INLINE V gelu(V x) {
  const V e = erf_lanes(V::mul(x, V::set1(0.70710678F)));
  return V::mul(V::mul(V::set1(0.5F), x), V::add(V::set1(1.0F), e));
}
template <class V>
MINFER_INLINE V relu(V x) {
  return V::max(x, V::zero());
}

/// Calls g(f) with the activation `kind` as a function over lanes.
template <class V, class G>
void with_activation(ir::Activation kind, G g) {
  switch (kind) {
    case ir::Activation::kSilu:
      return g([](V x) { return silu(x); });
    case ir::Activation::kGeluTanh:
      return g([](V x) { return gelu_tanh(x); });
    case ir::Activation::kGelu:
      return g([](V x) { return gelu(x); });
    case ir::Activation::kRelu:
      return g([](V x) { return relu(x); });
  }
}

template <class V>
void activation(ir::Activation kind, const float* x, float* to, std::int64_t n) {
  with_activation<V>(kind, [&](auto f) { map1<V>(x, to, n, f); });
}
template <class V>
void glu(ir::Activation kind, const float* gate, const float* up, float* to, std::int64_t n) {
  with_activation<V>(
      kind, [&](auto f) { map2<V>(gate, up, to, n, [f](V g, V u) { return V::mul(f(g), u); }); });
}

template <class V>
void map_exp(const float* x, float* to, std::int64_t n) {
  map1<V>(x, to, n, [](V a) { return exp_lanes(a); });
}
template <class V>
void map_tanh(const float* x, float* to, std::int64_t n) {
  map1<V>(x, to, n, [](V a) { return tanh_lanes(a); });
}
template <class V>
void map_erf(const float* x, float* to, std::int64_t n) {
  map1<V>(x, to, n, [](V a) { return erf_lanes(a); });
}
template <class V>
void add_scaled(float factor, const float* x, float* to, std::int64_t n) {
  const V f = V::set1(factor);
  map2<V>(x, to, to, n, [f](V a, V sum) { return V::fma(f, a, sum); });
}
template <class V>
void decay_add(float factor, const float* state, const float* x, float* to, std::int64_t n) {
  const V f = V::set1(factor);
  map2<V>(state, x, to, n, [f](V h, V a) { return V::fma(f, h, a); });
}

template <class V>
constexpr ElementwiseKernels make_elementwise_kernels() {
  return {.add = add<V>,
          .mul = mul<V>,
          .scale = scale<V>,
          .activation = activation<V>,
          .glu = glu<V>,
          .exp = map_exp<V>,
          .tanh = map_tanh<V>,
          .erf = map_erf<V>,
          .add_scaled = add_scaled<V>,
          .decay_add = decay_add<V>};
}

}  // namespace
}  // namespace minfer::cpu
