// Weights against libm, and sums against single ones.
#include "sampling/weight.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "sampling/row.h"

namespace minfer::sampling {
namespace {

TEST(Weight, is_the_exponential_in_whole_numbers) {
  EXPECT_EQ(weight_of(0.0), kUnitWeight);
  EXPECT_EQ(weight_of(5.0), kUnitWeight);
  EXPECT_EQ(weight_of(kWeightless), 0U);
  EXPECT_EQ(weight_of(static_cast<double>(kNever)), 0U);
  EXPECT_EQ(weight_of(-1e300), 0U);
  for (double x = 0.0; x > -32.0; x -= 0.00137) {
    const double exact = std::exp(x) * static_cast<double>(kUnitWeight);
    ASSERT_NEAR(static_cast<double>(weight_of(x)), exact, 1.0 + exact * 1e-14) << x;
    ASSERT_NEAR(static_cast<double>(depth_of(x)), exact * -x, 1.0 + exact * -x * 1e-14) << x;
    ASSERT_GE(weight_of(x), weight_of(x - 0.00137));
  }
}

TEST(Weight, sums_are_those_of_single_weights) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0.0F, 8.0F);
  for (int round = 0; round < 200; ++round) {
    std::array<float, kBlock> logits;
    for (float& logit : logits) logit = rng() % 5 == 0 ? kNever : normal(rng);
    const double largest = normal(rng) + 10.0F;
    const double scale = round % 2 == 0 ? 1.0 : 0.37;
    Weight weights = 0;
    Weight depths = 0;
    for (const float logit : logits) {
      weights += weight_of((static_cast<double>(logit) - largest) * scale);
      depths += depth_of(static_cast<double>(logit) - largest);
    }
    ASSERT_EQ(sum_of_weights(logits, largest, scale), weights);
    ASSERT_EQ(sum_of_depths(logits, largest), depths);
  }
}

TEST(Weight, exponential_and_logarithm) {
  for (double x = -690.0; x < 690.0; x += 0.731) {
    const double y = exponential(x);
    ASSERT_NEAR(y / std::exp(x), 1.0, 1e-13) << x;
    ASSERT_NEAR(natural_logarithm(y), std::log(y), 1e-15 * (1.0 + std::abs(x))) << x;
  }
  EXPECT_EQ(natural_logarithm(1.0), 0.0);
}

TEST(Row, standard_deviation_is_that_of_the_finite_logits) {
  std::mt19937 rng(9);
  std::normal_distribution<float> normal(-40.0F, 2.0F);
  for (const std::size_t n_vocab : {1U, 63U, 64U, 65U, 1000U}) {
    std::vector<float> logits(n_vocab);
    double n = 0.0;
    double mean = 0.0;
    for (std::size_t i = 0; i < n_vocab; ++i) {
      logits[i] = i % 3 == 2 ? kNever : normal(rng);
      if (i % 3 != 2) n += 1.0, mean += logits[i];
    }
    mean /= n;
    double squares = 0.0;
    for (const float x : logits) {
      if (x > kNever) squares += (x - mean) * (x - mean);
    }
    Row row(n_vocab, 4);
    ASSERT_TRUE(row.set(logits, 0).ok());
    EXPECT_NEAR(row.standard_deviation(), std::sqrt(squares / n), 1e-9) << n_vocab;
  }
}

}  // namespace
}  // namespace minfer::sampling
