// The scalar kernels against docs/arithmetic.md written down once more, in another way.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "quant/codec.h"
#include "tests/cpu/mat_mul_cases.h"

namespace minfer::cpu {
namespace {

constexpr std::int64_t kQ8ABytes = 52;  // of a block of 32 elements

struct Q8A {
  std::int8_t q[32];
  float d[2];
  float s;
};

Q8A q8a_block(const Operands& operands, std::int64_t row, std::int64_t block) {
  Q8A value;
  std::memcpy(&value, operands.x + row * operands.x_stride + block * kQ8ABytes, sizeof value);
  return value;
}

/// Sum of decoded weights times dequantised activations, in binary64: catches a wrong code, offset,
/// scale or place, if not the order of sums.
TEST(ScalarMatMul, NearTheDecodedProduct) {
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.isa != Isa::kScalar) continue;
    for (Fill fill : {Fill::kRandom, Fill::kExtremes}) {
      Operands operands(
          {.dtype = entry.dtype, .n_rows = 11, .n_cols = 512, .n_x = 3, .fill = fill});
      const auto got = run(entry.kernel, WeightLayout::kPlain, operands);
      const PackedWeight weight = plain_weight(entry.dtype, operands.weights.data(), 11, 512);
      for (std::int64_t row = 0; row < 3; ++row) {
        for (std::int64_t column = 0; column < 11; ++column) {
          std::vector<float> w(512);
          decode_row(weight, column, w.data());
          double sum = 0;
          double size = 0;
          for (std::int64_t k = 0; k < 512; ++k) {
            double x = operands.rows[static_cast<std::size_t>(row * 512 + k)];
            if (takes_quantized_rows(entry.dtype)) {
              const Q8A block = q8a_block(operands, row, k / 32);
              x = static_cast<double>(block.d[k % 32 / 16]) * block.q[k % 32];
            }
            const double product = static_cast<double>(w[static_cast<std::size_t>(k)]) * x;
            sum += product;
            size += std::fabs(product);
          }
          // Quantities with an offset cancel: their parts are larger than the decoded weights.
          EXPECT_NEAR(got[static_cast<std::size_t>(row * 11 + column)], sum, 1e-5 * size + 1e-6)
              << dtype_name(entry.dtype) << " " << row << " " << column;
        }
      }
    }
  }
}

TEST(ScalarMatMul, Q8_0IsAChainOverBlocks) {
  Operands operands({.dtype = DType::kQ8_0, .n_rows = 9, .n_cols = 320, .n_x = 4});
  std::vector<float> want;
  for (std::int64_t row = 0; row < 4; ++row) {
    for (std::int64_t column = 0; column < 9; ++column) {
      float acc = 0;
      for (std::int64_t b = 0; b < 10; ++b) {
        const std::byte* w = operands.weights.data() + (column * 10 + b) * 34;
        std::uint16_t d = 0;
        std::int8_t q[32];
        std::memcpy(&d, w, 2);
        std::memcpy(q, w + 2, 32);
        const Q8A a = q8a_block(operands, row, b);
        for (int h = 0; h < 2; ++h) {
          int sum = 0;
          for (int k = 16 * h; k < 16 * h + 16; ++k) sum += q[k] * a.q[k];
          acc = std::fma(static_cast<float>(sum), f16_to_f32(d) * a.d[h], acc);
        }
      }
      want.push_back(acc);
    }
  }
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.dtype != DType::kQ8_0 || entry.isa != Isa::kScalar) continue;
    EXPECT_EQ(first_difference(run(entry.kernel, WeightLayout::kPlain, operands), want), "");
  }
}

TEST(ScalarMatMul, Q4_1AddsTheMinimumAfterTheProduct) {
  Operands operands({.dtype = DType::kQ4_1, .n_rows = 9, .n_cols = 320, .n_x = 4});
  std::vector<float> want;
  for (std::int64_t row = 0; row < 4; ++row) {
    for (std::int64_t column = 0; column < 9; ++column) {
      float acc = 0;
      for (std::int64_t b = 0; b < 10; ++b) {
        const std::byte* w = operands.weights.data() + (column * 10 + b) * 20;
        std::uint16_t d_and_m[2];
        std::uint8_t qs[16];
        std::memcpy(d_and_m, w, 4);
        std::memcpy(qs, w + 4, 16);
        const Q8A a = q8a_block(operands, row, b);
        int sums[2] = {};
        for (int k = 0; k < 16; ++k) {
          sums[0] += (qs[k] & 15) * a.q[k];
          sums[1] += (qs[k] >> 4) * a.q[k + 16];
        }
        for (int h = 0; h < 2; ++h) {
          acc = std::fma(static_cast<float>(sums[h]), f16_to_f32(d_and_m[0]) * a.d[h], acc);
        }
        acc = std::fma(f16_to_f32(d_and_m[1]), a.s, acc);
      }
      want.push_back(acc);
    }
  }
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.dtype != DType::kQ4_1 || entry.isa != Isa::kScalar) continue;
    EXPECT_EQ(first_difference(run(entry.kernel, WeightLayout::kPlain, operands), want), "");
  }
}

TEST(ScalarMatMul, F32HasSixteenLanes) {
  Operands operands({.dtype = DType::kF32, .n_rows = 9, .n_cols = 75, .n_x = 4});
  std::vector<float> want;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 9; ++column) {
      float lanes[16] = {};
      for (std::size_t k = 0; k < 75; ++k) {
        float w = 0;
        std::memcpy(&w, operands.weights.data() + (column * 75 + k) * 4, 4);
        lanes[k % 16] = std::fma(w, operands.rows[row * 75 + k], lanes[k % 16]);
      }
      float r4[4];
      for (int j = 0; j < 4; ++j) {
        r4[j] = (lanes[j] + lanes[j + 8]) + (lanes[j + 4] + lanes[j + 12]);
      }
      want.push_back((r4[0] + r4[2]) + (r4[1] + r4[3]));
    }
  }
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.dtype != DType::kF32 || entry.isa != Isa::kScalar) continue;
    EXPECT_EQ(first_difference(run(entry.kernel, WeightLayout::kPlain, operands), want), "");
  }
}

TEST(QuantizeRow, FollowsTheRule) {
  std::vector<float> x(96);
  for (std::size_t k = 0; k < 32; ++k) x[k] = static_cast<float>(k) - 15.5F;
  x[0] = -127.0F;  // d = 1 in the first half, and halves to round
  x[31] = 254.0F;  // d = 2 in the second
  x[40] = std::numeric_limits<float>::infinity();
  x[41] = 3.0F;
  x[50] = 127.0F;
  AlignedBytes row(q8a_row_bytes(96));
  quantize_row(Isa::kScalar, x.data(), 96, row.data());
  Q8A block[3];
  for (int b = 0; b < 3; ++b) std::memcpy(&block[b], row.data() + kQ8ABytes * b, sizeof(Q8A));
  int sums[2] = {};
  for (int k = 0; k < 32; ++k) {
    const float d = k < 16 ? 1.0F : 2.0F;
    EXPECT_EQ(block[0].d[k / 16], d);
    EXPECT_EQ(block[0].q[k], std::nearbyint(x[static_cast<std::size_t>(k)] / d)) << k;
    sums[k / 16] += block[0].q[k];
  }
  EXPECT_EQ(block[0].s, static_cast<float>(sums[0] + 2 * sums[1]));
  // An infinity spoils its half alone.
  EXPECT_TRUE(std::isinf(block[1].d[0]));
  for (int k = 0; k < 16; ++k) EXPECT_EQ(block[1].q[k], 0);
  EXPECT_EQ(block[1].d[1], 1.0F);
  EXPECT_EQ(block[1].q[18], 127);
  EXPECT_EQ(block[2].d[0], 0.0F);
  EXPECT_EQ(block[2].s, 0.0F);
}

}  // namespace
}  // namespace minfer::cpu
