// exp, tanh and erf over lanes, from + - * / and FMA alone (docs/arithmetic.md).
//
// The coefficients are minimax fits (Remez) made for minfer, rounded to binary32:
//   exp   e^r on |r| <= ln(2) / 2, relative error 3.1e-9 before rounding
//   tanh  (tanh(x) / x - 1) / x^2 in x^2 on |x| <= 0.625, relative error 1.5e-10; above that
//         1 - 2 / (exp(2 |x|) + 1)
//   erf   ln(erfc(x)) / x on 0 <= x <= 4, so that erf(x) = 1 - exp(x P(x)); absolute error 2.3e-9
//         before rounding, about 1e-7 with it, which is what 1 + erf(x) can hold
// Internal linkage: every instruction set makes its own.
// Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

/// Horner's rule from the highest coefficient down, one FMA a step.
template <class V, int N>
MINFER_INLINE V polynomial(V x, const float (&highest_first)[N]) {
  V y = V::set1(highest_first[0]);
  for (int i = 1; i < N; ++i) y = V::fma(y, x, V::set1(highest_first[i]));
  return y;
}

template <class V>
MINFER_INLINE V exp_lanes(V x) {
  constexpr float kCoefficients[] = {
      0x1.6a23e6p-10F, 0x1.123a2p-7F, 0x1.5558f2p-5F, 0x1.555492p-3F, 0x1.fffffcp-2F, 1.0F, 1.0F};
  // Adding 1.5 * 2^23 leaves no bits below the ones: rounds to the nearest whole, ties to even.
  const V magic = V::set1(12582912.0F);
  x = V::min(V::set1(88.72283F), V::max(V::set1(-87.33654F), x));
  const V n = V::sub(V::add(V::mul(x, V::set1(1.44269504F)), magic), magic);
  V r = V::fma(n, V::set1(-0.693359375F), x);
  r = V::fma(n, V::set1(2.12194440e-4F), r);
  return V::scale_by_power_of_2(polynomial(r, kCoefficients), n);
}

template <class V>
MINFER_INLINE V tanh_lanes(V x) {
  constexpr float kCoefficients[] = {0x1.197b82p-9F,  -0x1.0c2148p-7F, 0x1.6394dap-6F,
                                     -0x1.b9ef7cp-5F, 0x1.11106cp-3F,  -0x1.555554p-2F};
  const V magnitude = V::abs(x);
  const V square = V::mul(x, x);
  const V near = V::fma(V::mul(polynomial(square, kCoefficients), square), magnitude, magnitude);
  const V one = V::set1(1.0F);
  const V e = exp_lanes(V::add(magnitude, magnitude));
  const V far = V::sub(one, V::div(V::set1(2.0F), V::add(e, one)));
  return V::with_sign(V::select_less(magnitude, V::set1(0.625F), near, far), x);
}

template <class V>
MINFER_INLINE V erf_lanes(V x) {
  constexpr float kCoefficients[] = {0x1.0de37p-17F,   -0x1.bcaff6p-14F, 0x1.343ee8p-11F,
                                     -0x1.9d542ep-10F, 0x1.ecc88ep-15F,  0x1.3adaap-6F,
                                     -0x1.a510cap-4F,  -0x1.45f28cp-1F,  -0x1.20dd78p+0F};
  // min keeps a NaN, which stands second.
  const V magnitude = V::min(V::set1(4.0F), V::abs(x));
  const V exponent = V::mul(polynomial(magnitude, kCoefficients), magnitude);
  return V::with_sign(V::sub(V::set1(1.0F), exp_lanes(exponent)), x);
}

}  // namespace
}  // namespace minfer::cpu
