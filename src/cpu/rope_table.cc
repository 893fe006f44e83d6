#include "cpu/rope_table.h"

#include <bit>

namespace minfer::cpu {
namespace {

constexpr double kLn2High = 0x1.62e42fefp-1;       // 33 bits: whole multiples are exact
constexpr double kLn2Low = 0x1.473de6af278edp-34;  // ln(2) - kLn2High
constexpr double kHalfPi1 = 0x1.921fb544p+0;       // pi / 2 in parts of 33 bits
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

/// The whole number nearest to x, for |x| < 2^51.
double round_whole(double x) {
  constexpr double kMagic = 0x1.8p+52;
  return (x + kMagic) - kMagic;
}

/// sum of x^i / i! terms of one parity: 1 + z / (a (a + 1)) (1 + z / ...) from the far end.
double alternating_series(double square, double first, int terms) {
  double sum = 1.0;
  for (int i = terms; i > 0; --i) {
    const double a = first + 2.0 * (i - 1);
    sum = 1.0 - square / (a * (a + 1.0)) * sum;
  }
  return sum;
}

}  // namespace

double log_f64(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // ln(m) = 2 artanh((m - 1) / (m + 1)), |argument| < 0.172.
  const double t = (m - 1.0) / (m + 1.0);
  const double square = t * t;
  double sum = 0.0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * square;
  const auto e = static_cast<double>(exponent);
  return e * kLn2High + (2.0 * t + (2.0 * t * sum + e * kLn2Low));
}

double exp_f64(double x) {
  const double n = round_whole(x * 1.4426950408889634);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0;
  for (int k = 16; k > 0; --k) sum = 1.0 + sum * r / k;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023);
  return sum * std::bit_cast<double>(exponent << 52);
}

SineCosine sine_cosine_f64(double x) {
  const double n = round_whole(x * kTwoOverPi);
  const double r = ((x - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  const double square = r * r;
  const double sine = r * alternating_series(square, 2.0, 9);
  const double cosine = alternating_series(square, 1.0, 10);
  switch (static_cast<std::int64_t>(n) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

Result<RopeTable> RopeTable::create(const RopeTableKey& key, std::int32_t n_positions) {
  RopeTable table;
  table.key_ = key;
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(key.n_rot) * sizeof(float);
  MINFER_ASSIGN_OR_RETURN(table.memory_,
                          MemoryBlock::create(static_cast<std::uint64_t>(n_positions) * row_bytes));
  table.filled_.resize(static_cast<std::size_t>(n_positions));
  const double log_base = log_f64(static_cast<double>(key.base));
  for (std::int32_t i = 0; i < key.n_rot / 2; ++i) {
    table.theta_.push_back(exp_f64(-2.0 * i / key.n_rot * log_base));
  }
  return table;
}

void RopeTable::fill(std::span<const std::int32_t> positions) {
  const std::int32_t half = key_.n_rot / 2;
  for (const std::int32_t position : positions) {
    MINFER_CHECK(position >= 0 && position < n_positions());
    std::uint8_t& filled = filled_[static_cast<std::size_t>(position)];
    if (filled != 0) continue;
    filled = 1;
    float* row = reinterpret_cast<float*>(memory_.data()) + std::int64_t{position} * key_.n_rot;
    for (std::int32_t i = 0; i < half; ++i) {
      double angle = static_cast<double>(position) * theta_[static_cast<std::size_t>(i)];
      angle = angle * static_cast<double>(key_.freq_scale);
      if (!key_.factors.empty()) {
        angle = angle / static_cast<double>(key_.factors[static_cast<std::size_t>(i)]);
      }
      const SineCosine value = sine_cosine_f64(angle);
      row[i] = static_cast<float>(value.cosine);
      row[half + i] = static_cast<float>(value.sine);
    }
  }
}

}  // namespace minfer::cpu
