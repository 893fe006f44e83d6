// f16 and bf16: every pattern, and rounding against an independent definition.
#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace minfer {
namespace {

// The value of a binary16 by its definition, in double.
double f16_by_definition(unsigned bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 0x1f);
  const int mantissa = static_cast<int>(bits & 0x3ff);
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Half, every_f16_pattern_widens_exactly_and_comes_back) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(h);
    const double expected = f16_by_definition(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(f32_to_f16(value), h | 0x200) << bits;  // the same NaN, quiet
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
    ASSERT_EQ(f32_to_f16(value), h) << bits;
  }
}

TEST(Half, f16_rounds_to_nearest_ties_to_even) {
  // Between each pair of neighbours: the midpoint goes to the even one, its f32 neighbours do not.
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    // Above the largest finite value, 2^16 stands in for infinity.
    const double above = bits == 0x7bff ? 65536.0 : f16_by_definition(high);
    const auto middle = static_cast<float>((f16_by_definition(low) + above) / 2);
    const std::uint16_t even = (bits & 1) == 0 ? low : high;
    ASSERT_EQ(f32_to_f16(middle), even) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), low) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), high) << bits;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << bits;
  }
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
}

TEST(Half, bf16_widens_exactly_and_rounds_to_nearest_ties_to_even) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    const float value = bf16_to_f32(h);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
    if (std::isnan(value)) {
      ASSERT_EQ(f32_to_bf16(value), h | 0x40) << bits;
      continue;
    }
    ASSERT_EQ(f32_to_bf16(value), h) << bits;
    if (std::isinf(value)) continue;
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const std::uint16_t even = (bits & 1) == 0 ? h : next;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>((bits << 16) | 0x7fffu)), h) << bits;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>((bits << 16) | 0x8000u)), even) << bits;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>((bits << 16) | 0x8001u)), next) << bits;
  }
  // A NaN whose payload lies in the lower half alone must not become infinity.
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace minfer
