#include "base/soft_fma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace minfer {
namespace {

bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

void expect_same(float a, float b, float c) {
  const float want = std::fma(a, b, c);
  const float got = soft_fma(a, b, c);
  ASSERT_TRUE(same(got, want)) << std::hexfloat << a << " * " << b << " + " << c << " = " << got
                               << ", not " << want;
}

TEST(SoftFma, AnyBitPattern) {
  std::mt19937 random(1);
  for (int i = 0; i < 3'000'000; ++i) {
    expect_same(std::bit_cast<float>(static_cast<std::uint32_t>(random())),
                std::bit_cast<float>(static_cast<std::uint32_t>(random())),
                std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
}

// Addends close to the product, so that sums cancel and ties come up; and everything tiny.
TEST(SoftFma, NearbyMagnitudesAndSubnormals) {
  std::mt19937 random(2);
  const auto mantissa = [&] { return (random() & 0x007ff000u) | (random() & 7u); };
  const auto make = [&](int exponent) {
    if (exponent < 0) exponent = 0;
    return std::bit_cast<float>((static_cast<std::uint32_t>(random()) & 0x80000000u) |
                                (static_cast<std::uint32_t>(exponent) << 23) |
                                static_cast<std::uint32_t>(mantissa()));
  };
  for (int i = 0; i < 3'000'000; ++i) {
    const int ea = static_cast<int>(random() % 180) + 20;
    const int eb = static_cast<int>(random() % 130);
    const int shift = static_cast<int>(random() % 60) - 30;
    const int ec = ea + eb - 127 + shift;
    if (ec > 254) continue;
    expect_same(make(ea), make(eb), make(ec));
  }
}

// An addend with an odd or even last bit, and a product within 2^-k of half that bit: a tie of
// binary32 that is broken far beyond (or within) the reach of binary64.
TEST(SoftFma, AlmostTies) {
  for (int k = 1; k <= 23; ++k) {
    for (float sign : {1.0F, -1.0F}) {
      for (float c : {1.0F, 1.0F + 0x1p-23F, 0x1.fffffep0F}) {
        for (int exponent : {0, -100, 100}) {
          const float a = std::ldexp(1.0F + std::ldexp(1.0F, -k), -12);
          const float b = std::ldexp(1.0F - sign * std::ldexp(1.0F, -k), -12);
          expect_same(std::ldexp(a, exponent), b, std::ldexp(c, exponent));
          expect_same(std::ldexp(a, exponent), -b, std::ldexp(c, exponent));
        }
      }
    }
  }
}

// The same where the result is subnormal: fewer bits are left, and ties lie elsewhere.
TEST(SoftFma, AlmostTiesOfSubnormals) {
  for (int k = 1; k <= 23; ++k) {
    for (float sign : {1.0F, -1.0F}) {
      for (float c : {0x1p-127F, 0x1p-127F + 0x1p-149F, 0x1p-130F, 0x1p-126F - 0x1p-149F}) {
        const float a = std::ldexp(1.0F + std::ldexp(1.0F, -k), -75);
        const float b = std::ldexp(1.0F - sign * std::ldexp(1.0F, -k), -75);
        expect_same(a, b, c);
        expect_same(a, -b, c);
      }
    }
  }
}

TEST(SoftFma, DifferentFromRoundingTwice) {
  // 2^-24 (1 + 2^-23) (1 - 2^-23) = 2^-24 - 2^-70: below the tie of 1 + 2^-24, but binary64 sees
  // the tie itself, and 1 + 2^-23 has an odd last bit, which the tie would round up.
  const float a = std::ldexp(1.0F + 0x1p-23F, -12);
  const float b = std::ldexp(1.0F - 0x1p-23F, -12);
  const float c = 1.0F + 0x1p-23F;
  const auto twice =
      static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
  ASSERT_FALSE(same(twice, std::fma(a, b, c)));
  expect_same(a, b, c);
  expect_same(-a, b, -c);
}

TEST(SoftFma, Specials) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0F,
                                     -0.0F,
                                     1.0F,
                                     -1.0F,
                                     inf,
                                     -inf,
                                     nan,
                                     0x1p-149F,
                                     -0x1p-149F,
                                     0x1p-126F,
                                     0x1.fffffep127F,
                                     -0x1.fffffep127F,
                                     0x1p-75F,
                                     0x1p64F,
                                     0x1.000002p0F};
  for (float a : values) {
    for (float b : values) {
      for (float c : values) expect_same(a, b, c);
    }
  }
}

}  // namespace
}  // namespace minfer
