// Every vector kernel against the scalar one, bit by bit: those that this machine runs, and
// emulated ones.

#include "cpu/mat_mul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/cpu_features.h"
#include "quant/codec.h"
#include "tests/cpu/emulated_kernels.h"
#include "tests/cpu/mat_mul_cases.h"

namespace minfer::cpu {
namespace {

constexpr std::size_t kQ8ABytes = 52;  // of a block of 32 elements

MatMulKernel scalar_kernel(DType type) {
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.dtype == type && entry.isa == Isa::kScalar) return entry.kernel;
  }
  return nullptr;
}

std::int64_t least_k(DType type) { return dtype_info(type).block_elements; }

bool runs_here(Isa isa) { return missing_feature(isa, detect_cpu_features()).empty(); }

std::string compare(const MatMulEntry& entry, const Product& product) {
  Operands operands(product);
  const auto want = run(scalar_kernel(product.dtype), WeightLayout::kPlain, operands);
  std::string text = first_difference(run(entry.kernel, entry.layout, operands), want);
  if (text.empty()) {
    text = first_difference(run(entry.kernel, entry.layout, operands, true), want);
  }
  return text;
}

class VectorKernel : public testing::TestWithParam<MatMulEntry> {
 protected:
  void SetUp() override {
    if (!runs_here(GetParam().isa))
      GTEST_SKIP() << "this machine lacks " << isa_name(GetParam().isa);
  }
};

TEST_P(VectorKernel, EveryRowCount) {
  for (std::int64_t n_x = 1; n_x <= 45; ++n_x) {
    const Product product = {.dtype = GetParam().dtype,
                             .n_rows = 20,
                             .n_cols = std::max<std::int64_t>(96, least_k(GetParam().dtype)),
                             .n_x = n_x,
                             .seed = static_cast<std::uint32_t>(n_x)};
    ASSERT_EQ(compare(GetParam(), product), "") << "n_x " << n_x;
  }
}

TEST_P(VectorKernel, EveryWeightRowCount) {
  for (std::int64_t n_rows = 1; n_rows <= 34; ++n_rows) {
    for (std::int64_t n_x : {1, 7}) {
      const Product product = {.dtype = GetParam().dtype,
                               .n_rows = n_rows,
                               .n_cols = std::max<std::int64_t>(64, least_k(GetParam().dtype)),
                               .n_x = n_x,
                               .seed = static_cast<std::uint32_t>(n_rows)};
      ASSERT_EQ(compare(GetParam(), product), "") << "n_rows " << n_rows << ", n_x " << n_x;
    }
  }
}

// Past one panel of the L1 cache, and (with many rows) past one block of the L2 cache.
TEST_P(VectorKernel, LongRows) {
  const std::int64_t unit = std::max<std::int64_t>(32, least_k(GetParam().dtype));
  for (std::int64_t units : {1, 2, 3, 5, 33, 70}) {
    const std::int64_t n_cols = units * unit;
    const std::int64_t n_x = units == 33 ? 90 : 5;
    const Product product = {
        .dtype = GetParam().dtype, .n_rows = 24, .n_cols = n_cols, .n_x = n_x, .seed = 7};
    ASSERT_EQ(compare(GetParam(), product), "") << "n_cols " << n_cols;
    const Product one = {
        .dtype = GetParam().dtype, .n_rows = 11, .n_cols = n_cols, .n_x = 1, .seed = 8};
    ASSERT_EQ(compare(GetParam(), one), "") << "n_cols " << n_cols;
  }
}

/// Those of this machine's architecture and emulated ones.
std::vector<MatMulEntry> vector_kernels() {
  std::vector<MatMulEntry> entries;
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.isa != Isa::kScalar) entries.push_back(entry);
  }
  for (const auto& emulated : {emulated_dot_kernels(), emulated_avx2_kernels(),
                               emulated_avx2_float_kernels(), emulated_avx512_float_kernels()}) {
    entries.insert(entries.end(), emulated.begin(), emulated.end());
  }
  return entries;
}

TEST(FloatKernel, Tails) {
  for (const MatMulEntry& entry : vector_kernels()) {
    if (is_block_quantized(entry.dtype) || !runs_here(entry.isa)) continue;
    for (std::int64_t n_cols = 1; n_cols <= 50; ++n_cols) {
      const Product product = {
          .dtype = entry.dtype, .n_rows = 9, .n_cols = n_cols, .n_x = 5, .seed = 3};
      ASSERT_EQ(compare(entry, product), "") << entry.name << ", n_cols " << n_cols;
    }
  }
}

TEST_P(VectorKernel, ExtremeCodesDoNotSaturate) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    for (std::int64_t n_x : {3, 13}) {
      const Product product = {.dtype = GetParam().dtype,
                               .n_rows = 40,
                               .n_cols = std::max<std::int64_t>(256, least_k(GetParam().dtype)),
                               .n_x = n_x,
                               .fill = Fill::kExtremes,
                               .seed = seed};
      ASSERT_EQ(compare(GetParam(), product), "") << "seed " << seed;
    }
  }
}

TEST_P(VectorKernel, BrokenAndEmptyRows) {
  for (std::int64_t n_x : {1, 2, 3, 4, 26}) {
    const Product product = {.dtype = GetParam().dtype,
                             .n_rows = 17,
                             .n_cols = std::max<std::int64_t>(96, least_k(GetParam().dtype)),
                             .n_x = n_x,
                             .fill = Fill::kBroken,
                             .seed = 5};
    ASSERT_EQ(compare(GetParam(), product), "") << "n_x " << n_x;
  }
}

// A row keeps its bits whoever it is computed with, and indirection only moves rows.
TEST_P(VectorKernel, IndirectRowsColumnBaseAndMatrices) {
  const DType type = GetParam().dtype;
  const std::int64_t n_cols = std::max<std::int64_t>(64, least_k(type));
  constexpr std::int64_t kRows = 24;
  constexpr std::int64_t kMatrices = 3;
  Operands operands(
      {.dtype = type, .n_rows = kRows * kMatrices, .n_cols = n_cols, .n_x = 40, .seed = 9});
  const auto want = run(scalar_kernel(type), WeightLayout::kPlain, operands);

  PackedWeight weight = plain_weight(type, operands.weights.data(), kRows, n_cols, kMatrices);
  std::vector<std::byte> tiles;
  if (GetParam().layout == WeightLayout::kInterleaved) {
    const std::uint64_t one = interleaved_bytes(type, kRows, n_cols);
    tiles.resize(kMatrices * one);
    for (std::int64_t m = 0; m < kMatrices; ++m) {
      interleave(type, operands.weights.data() + m * weight.matrix_stride, kRows, n_cols,
                 tiles.data() + m * static_cast<std::int64_t>(one), 0, kRows / kTileRows);
    }
    weight = interleaved_weight(type, tiles.data(), kRows, n_cols, kMatrices);
  }
  for (std::int64_t n_x : {1, 4, 9}) {
    std::vector<std::int32_t> x_rows;
    std::vector<std::int32_t> y_rows;
    for (std::int32_t i = 0; i < n_x; ++i) {
      x_rows.push_back((7 * i + 3) % 40);
      y_rows.push_back((5 * i + 2) % 12);
    }
    constexpr float kUntouched = -7.0F;
    std::vector<float> y(12 * 16, kUntouched);
    // Matrix 1, its columns 8..23, into rows of 16 floats.
    const MatMulArgs args = {.weight = &weight,
                             .matrix = 1,
                             .x = operands.x,
                             .x_stride = operands.x_stride,
                             .x_rows = x_rows.data(),
                             .y_rows = y_rows.data(),
                             .n_x = n_x,
                             .y = y.data(),
                             .y_stride = 16,
                             .column_base = 8};
    GetParam().kernel(args, 1, 3);
    std::vector<float> expected(y.size(), kUntouched);
    for (std::size_t i = 0; i < x_rows.size(); ++i) {
      for (std::size_t c = 0; c < 16; ++c) {
        const auto row = static_cast<std::size_t>(x_rows[i]);
        expected[static_cast<std::size_t>(y_rows[i]) * 16 + c] =
            want[row * kRows * kMatrices + kRows + 8 + c];
      }
    }
    ASSERT_EQ(first_difference(y, expected), "") << "n_x " << n_x;
  }
}

INSTANTIATE_TEST_SUITE_P(All, VectorKernel, testing::ValuesIn(vector_kernels()),
                         [](const auto& param) { return std::string(param.param.name); });

/// What the tests above must never let through: it sums the two halves of k apart.
void order_dependent_kernel(const MatMulArgs& args, std::int64_t tile_begin,
                            std::int64_t tile_end) {
  const DType type = args.weight->dtype;
  PackedWeight half = *args.weight;
  half.n_cols /= 2;
  const bool quantized = takes_quantized_rows(type);
  MatMulArgs part = args;
  part.weight = &half;
  scalar_kernel(type)(part, tile_begin, tile_end);
  half.data += row_size_bytes(type, static_cast<std::uint64_t>(half.n_cols));
  part.x += quantized ? half.n_cols / 32 * static_cast<std::int64_t>(kQ8ABytes) : half.n_cols * 4;
  std::vector<float> second(static_cast<std::size_t>(args.n_x * args.y_stride));
  part.y = second.data();
  scalar_kernel(type)(part, tile_begin, tile_end);
  for (std::size_t i = 0; i < second.size(); ++i) args.y[i] += second[i];
}

TEST(OrderDependentKernel, IsSeen) {
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.isa != Isa::kScalar) continue;
    const MatMulEntry wrong = {.dtype = entry.dtype,
                               .isa = Isa::kScalar,
                               .layout = WeightLayout::kPlain,
                               .kernel = order_dependent_kernel,
                               .name = "wrong"};
    const Product product = {.dtype = entry.dtype, .n_rows = 16, .n_cols = 512, .n_x = 5};
    Operands operands(product);
    const auto want = run(entry.kernel, WeightLayout::kPlain, operands);
    EXPECT_NE(first_difference(run(wrong.kernel, wrong.layout, operands), want), "")
        << dtype_name(entry.dtype);
  }
}

void expect_same_rows(std::byte* got, std::byte* want, std::size_t size, std::int64_t row) {
  for (std::size_t at = 0; at < size; at += kQ8ABytes) {
    // d and s may be NaN of either sign.
    ASSERT_EQ(std::memcmp(want + at, got + at, 32), 0) << "row " << row;
    std::vector<float> floats[2] = {std::vector<float>(3), std::vector<float>(3)};
    std::memcpy(floats[0].data(), want + at + 32, 12);
    std::memcpy(floats[1].data(), got + at + 32, 12);
    ASSERT_EQ(first_difference(floats[1], floats[0]), "") << "row " << row;
    ASSERT_EQ(std::memcmp(want + at + 44, got + at + 44, 8), 0) << "row " << row;
  }
}

TEST(QuantizeRow, VectorEqualsScalar) {
  const Isa best = choose_isa("").value();
  for (Fill fill : {Fill::kRandom, Fill::kExtremes, Fill::kBroken}) {
    const Product product = {
        .dtype = DType::kF32, .n_rows = 1, .n_cols = 320, .n_x = 600, .fill = fill};
    const std::vector<float> rows = make_rows(product);
    const std::size_t size = 10 * kQ8ABytes;
    AlignedBytes want(q8a_row_bytes(320));
    AlignedBytes got(q8a_row_bytes(320));
    AlignedBytes blockwise(q8a_row_bytes(320));
    for (std::int64_t i = 0; i < product.n_x; ++i) {
      const float* row = rows.data() + i * 320;
      quantize_row(Isa::kScalar, row, 320, want.data());
      quantize_row(best, row, 320, got.data());
      for (std::int64_t b = 9; b >= 0; --b) {
        quantize_block(best, row + 32 * b, b, 320, blockwise.data());
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_rows(got.data(), want.data(), size, i));
      ASSERT_EQ(std::memcmp(blockwise.data(), got.data(), size), 0) << "row " << i;
      quantize_f32_q8a_avx2_emulated(row, 10, reinterpret_cast<Q8ABlock*>(got.data()));
      ASSERT_NO_FATAL_FAILURE(expect_same_rows(got.data(), want.data(), size, i));
    }
  }
}

TEST(Interleave, KeepsEveryBit) {
  for (const MatMulEntry& entry : mat_mul_kernels()) {
    if (entry.layout != WeightLayout::kInterleaved) continue;
    const DType type = entry.dtype;
    const Product product = {.dtype = type, .n_rows = 13, .n_cols = 512, .n_x = 0};
    const auto plain = make_weights(product);
    std::vector<std::byte> tiles(interleaved_bytes(type, 13, 512));
    interleave(type, plain.data(), 13, 512, tiles.data(), 1, 2);
    interleave(type, plain.data(), 13, 512, tiles.data(), 0, 1);
    const PackedWeight from_plain = plain_weight(type, plain.data(), 13, 512);
    const PackedWeight from_tiles = interleaved_weight(type, tiles.data(), 13, 512);
    for (std::int64_t row = 0; row < 13; ++row) {
      std::vector<float> want(512);
      std::vector<float> got(512);
      decode_row(from_plain, row, want.data());
      decode_row(from_tiles, row, got.data());
      ASSERT_EQ(first_difference(got, want), "") << dtype_name(type) << " row " << row;
      std::vector<float> codec(512);
      const auto row_bytes = static_cast<std::int64_t>(row_size_bytes(type, 512));
      quant::codec(type)->decode_row(plain.data() + row * row_bytes, codec.data(), 512);
      ASSERT_EQ(first_difference(want, codec), "");
    }
    // What a tile costs in memory traffic, next to the file.
    EXPECT_LE(static_cast<double>(interleaved_bytes(type, 16, 512)),
              1.04 * static_cast<double>(row_size_bytes(type, 16 * 512)));
  }
}

}  // namespace
}  // namespace minfer::cpu
