#include "sampling/weight.h"

#include <cmath>

#include "sampling/lanes.h"

namespace minfer::sampling {
namespace {

constexpr double kLog2e = 1.4426950408889634;
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
// Adding it rounds to whole numbers and leaves them in the low bits.
constexpr double kRounder = 0x1.8p52;
// Weighs nothing.
constexpr double kDeepest = -32.0;

// What follows is for one number or for lanes of them: Real is double or Doubles.

/// exp(r) for |r| <= ln(2)/2: the Taylor polynomial, whose rest is below 2^-46, in pairs of terms
/// that do not wait for each other (Estrin's scheme).
template <class Real>
inline Real exp_of_remainder(Real r) {
  const Real r2 = r * r;
  const Real r4 = r2 * r2;
  const Real t0 = (r + 1.0) + r2 * (r * (1.0 / 6.0) + 0.5);
  const Real t4 = (r * (1.0 / 120.0) + 1.0 / 24.0) + r2 * (r * (1.0 / 5040.0) + 1.0 / 720.0);
  const Real t8 =
      (r * (1.0 / 362880.0) + 1.0 / 40320.0) + r2 * (r * (1.0 / 39916800.0) + 1.0 / 3628800.0);
  return t0 + r4 * (t4 + r4 * t8);
}

/// 2^exponent exp(x) for |x| <= 700 and no overflow.
template <class Real>
inline Real scaled_exp(Real x, std::uint64_t exponent) {
  const Real shifted = x * kLog2e + kRounder;
  const Real n = shifted - kRounder;
  const Real r = (x - n * kLn2High) - n * kLn2Low;
  return exp_of_remainder(r) * doubles_of((bits_of(shifted) + (1023 + exponent)) << 52);
}

/// x, but from kDeepest to 0.
template <class Real>
inline Real limited(Real x) {
  const Real zero{};
  const Real below = x < 0.0 ? x : zero;
  return below > kDeepest ? below : zero + kDeepest;
}

/// The whole number nearest to 0 <= x < 2^52, in the bits of a weight.
template <class Real>
inline auto rounded(Real x) {
  return bits_of(x + 0x1p52) - bits_of(0x1p52);
}

template <class Real>
inline auto weight(Real x) {
  return rounded(scaled_exp(limited(x), 44));
}

template <class Real>
inline auto depth(Real x) {
  const Real at = limited(x);
  return rounded(scaled_exp(at, 44) * -at);
}

}  // namespace

Weight weight_of(double x) { return weight(x); }

Weight depth_of(double x) { return depth(x); }

void weights_of(Block logits, double largest, double scale, std::span<Weight, kBlock> weights) {
  for (std::size_t i = 0; i < kBlock; i += 2) {
    const DoubleBits both = weight((load2(&logits[i]) - largest) * scale);
    weights[i] = both[0];
    weights[i + 1] = both[1];
  }
}

Weight sum_of_weights(Block logits, double largest, double scale) {
  DoubleBits sum{};
  for (std::size_t i = 0; i < kBlock; i += 2) {
    sum += weight((load2(&logits[i]) - largest) * scale);
  }
  return sum[0] + sum[1];
}

Weight sum_of_depths(Block logits, double largest) {
  DoubleBits sum{};
  for (std::size_t i = 0; i < kBlock; i += 2) sum += depth(load2(&logits[i]) - largest);
  return sum[0] + sum[1];
}

double exponential(double x) { return scaled_exp(x, 0); }

double natural_logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2.0;
    --exponent;
  }
  // ln(m) = 2 artanh(t), |t| < 0.172: the rest of the series is below 2^-54.
  const double t = (m - 1.0) / (m + 1.0);
  double sum = 0.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * t * t + 1.0 / k;
  return 2.0 * t * sum + exponent * kLn2Low + exponent * kLn2High;
}

}  // namespace minfer::sampling
