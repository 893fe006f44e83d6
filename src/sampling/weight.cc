#include "sampling/weight.h"

#include <bit>
#include <cmath>

namespace minfer::sampling {
namespace {

constexpr double kLog2e = 1.4426950408889634;
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
// Adding it rounds to whole numbers and leaves them in the low bits.
constexpr double kRounder = 0x1.8p52;
// Weighs nothing.
constexpr double kDeepest = -32.0;

/// exp(r) for |r| <= ln(2)/2: the Taylor polynomial, whose rest is below 2^-56.
inline double exp_of_remainder(double r) {
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  return sum * r + 1.0;
}

/// 2^exponent exp(x) for |x| <= 700 and no overflow.
inline double scaled_exp(double x, std::uint64_t exponent) {
  const double shifted = x * kLog2e + kRounder;
  const double n = shifted - kRounder;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const std::uint64_t power = std::bit_cast<std::uint64_t>(shifted) + 1023U + exponent;
  return exp_of_remainder(r) * std::bit_cast<double>(power << 52);
}

inline double limited(double x) {
  const double below = x < 0.0 ? x : 0.0;
  return below > kDeepest ? below : kDeepest;
}

/// The whole number nearest to 0 <= x < 2^52.
inline Weight rounded(double x) {
  return std::bit_cast<std::uint64_t>(x + 0x1p52) - std::bit_cast<std::uint64_t>(0x1p52);
}

}  // namespace

Weight weight_of(double x) { return rounded(scaled_exp(limited(x), 44)); }

Weight depth_of(double x) {
  const double at = limited(x);
  return rounded(scaled_exp(at, 44) * -at);
}

Weight sum_of_weights(Block logits, double largest, double scale) {
  Weight sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    sum += weight_of((static_cast<double>(logits[i]) - largest) * scale);
  }
  return sum;
}

Weight sum_of_depths(Block logits, double largest) {
  Weight sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    sum += depth_of(static_cast<double>(logits[i]) - largest);
  }
  return sum;
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
