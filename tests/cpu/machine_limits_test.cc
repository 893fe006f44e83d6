#include "cpu/machine_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/cpu/mat_mul_cases.h"

namespace minfer::cpu {
namespace {

constexpr std::uint64_t kWorkingSet = 48 << 20;
constexpr double kNoise = 1.1;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Multiply-adds a second, in 10^9, of the product by one thread, at best.
double product_speed(Isa isa, const Product& product) {
  Operands operands(product);
  AlignedBytes packed(can_interleave(product.dtype, isa)
                          ? interleaved_bytes(product.dtype, product.n_rows, product.n_cols)
                          : 0);
  auto weight =
      plain_weight(product.dtype, operands.weights.data(), product.n_rows, product.n_cols);
  const std::int64_t n_tiles = product.n_rows / kTileRows;
  if (can_interleave(product.dtype, isa)) {
    interleave(product.dtype, operands.weights.data(), product.n_rows, product.n_cols,
               packed.data(), 0, n_tiles);
    weight = interleaved_weight(product.dtype, packed.data(), product.n_rows, product.n_cols);
  }
  std::vector<float> y(static_cast<std::size_t>(product.n_x * product.n_rows));
  const MatMulArgs args = {.weight = &weight,
                           .x = operands.x,
                           .x_stride = operands.x_stride,
                           .n_x = product.n_x,
                           .y = y.data(),
                           .y_stride = product.n_rows};
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start = seconds_now();
    mat_mul(isa, args, 0, n_tiles);
    least = std::min(least, seconds_now() - start);
  }
  return static_cast<double>(product.n_rows * product.n_cols * product.n_x) * 1e-9 / least;
}

class MachineLimitsTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!choose_isa(isa_name(GetParam())).ok()) GTEST_SKIP() << "this machine lacks it";
  }

  /// True once a measured limit is not below `reached`: what else runs here may slow some down.
  bool limit_is_above(double MachineLimits::* limit, double reached) {
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto limits = measure_limits(GetParam(), 1, kWorkingSet);
      EXPECT_TRUE(limits.ok()) << limits.status().message();
      best_ = std::max(best_, *limits.*limit);
      if (best_ * kNoise >= reached) return true;
    }
    return false;
  }

  double best_ = 0;
};

TEST_P(MachineLimitsTest, no_quantised_product_multiplies_faster) {
  const double reached = 2 * product_speed(GetParam(), {DType::kQ8_0, 512, 1024, 128});
  EXPECT_TRUE(limit_is_above(&MachineLimits::int8_gflops, reached)) << reached << " > " << best_;
}

TEST_P(MachineLimitsTest, no_float_product_multiplies_faster) {
  const double reached = 2 * product_speed(GetParam(), {DType::kF32, 256, 512, 128});
  EXPECT_TRUE(limit_is_above(&MachineLimits::float32_gflops, reached)) << reached << " > " << best_;
}

TEST_P(MachineLimitsTest, no_product_reads_faster) {
  const auto n_rows = static_cast<std::int64_t>(kWorkingSet / 1024);
  for (const auto& [dtype, bytes] : {std::pair{DType::kQ8_0, 34.0 / 32}, {DType::kF32, 4.0}}) {
    const double reached =
        bytes *
        product_speed(GetParam(), {dtype, dtype == DType::kF32 ? n_rows / 4 : n_rows, 1024, 1});
    EXPECT_TRUE(limit_is_above(&MachineLimits::read_gbps, reached)) << reached << " > " << best_;
  }
}

TEST_P(MachineLimitsTest, are_those_of_a_machine) {
  for (const int n_threads : {1, 2}) {
    const auto limits = measure_limits(GetParam(), n_threads, kWorkingSet);
    ASSERT_TRUE(limits.ok()) << limits.status().message();
    EXPECT_GT(limits->read_gbps, 0.1);
    EXPECT_LT(limits->read_gbps, 4000);
    EXPECT_GT(limits->float32_gflops, 0.1);
    EXPECT_GT(limits->int8_gflops, 0.5 * limits->float32_gflops);
    // A core has at most two units of 64 bytes, or one of tiles, and no clock of 10 GHz.
    const double most = GetParam() == Isa::kAmx ? 2 * 10.0 * 1024 : 2 * 10.0 * 2 * 64;
    EXPECT_LT(limits->int8_gflops, most * n_threads);
    EXPECT_LT(limits->float32_gflops, 2 * 10.0 * 2 * 16 * n_threads);
  }
  // A working set that fits the nearest cache.
  EXPECT_GT(measure_limits(GetParam(), 1, 16 << 10)->read_gbps, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Isas, MachineLimitsTest,
                         testing::ValuesIn(all_isas().begin(), all_isas().end()),
                         [](const auto& each) { return std::string(isa_name(each.param)); });

}  // namespace
}  // namespace minfer::cpu
