#include "tests/cpu/mat_mul_cases.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace minfer::cpu {
namespace {

/// Where the f16 scales of a block stand.
std::vector<std::size_t> scale_offsets(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ6_K:
      return {208};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kTQ1_0:
      return {52};
    case DType::kTQ2_0:
      return {64};
    case DType::kMXFP4:  // an exponent instead
    case DType::kIQ1_M:  // in four parts
      return {};
    default:
      return {0};
  }
}

float random_float(std::mt19937& random, int low_exponent, int high_exponent) {
  const float mantissa = 1.0F + static_cast<float>(random() % 8192) / 8192.0F;
  const int range = high_exponent - low_exponent + 1;
  const int exponent = low_exponent + static_cast<int>(random() % static_cast<unsigned>(range));
  return std::ldexp((random() & 1) != 0 ? -mantissa : mantissa, exponent);
}

std::uint16_t random_scale(std::mt19937& random) {
  // Now and then zero or an f16 subnormal.
  const unsigned kind = random() % 16;
  const float value = kind == 0 ? 0.0F : random_float(random, kind == 1 ? -20 : -10, -2);
  return f32_to_f16(value);
}

void put_scales(DType type, std::byte* block, std::mt19937& random) {
  for (const std::size_t offset : scale_offsets(type)) {
    const std::uint16_t half = random_scale(random);
    std::memcpy(block + offset, &half, 2);
  }
  if (type == DType::kMXFP4) block[0] = static_cast<std::byte>(117 + random() % 10);
  if (type == DType::kIQ1_M) {
    const std::uint16_t half = random_scale(random);
    for (int word = 0; word < 4; ++word) {
      std::byte& top = block[49 + 2 * word];
      top = (top & std::byte{0x0f}) | static_cast<std::byte>((half >> (4 * word) & 15) << 4);
    }
  }
}

void fill_float_weights(const Product& product, std::vector<std::byte>& bytes) {
  std::mt19937 random(product.seed);
  const std::size_t size = dtype_info(product.dtype).block_bytes;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const float value = random_float(random, -6, 2);
    const std::uint16_t half =
        product.dtype == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(&bytes[at], product.dtype == DType::kF32 ? static_cast<const void*>(&value) : &half,
                size);
  }
}

}  // namespace

std::vector<std::byte> make_weights(const Product& product) {
  const auto n = static_cast<std::uint64_t>(product.n_rows * product.n_cols);
  std::vector<std::byte> bytes(row_size_bytes(product.dtype, n));
  if (!is_block_quantized(product.dtype)) {
    fill_float_weights(product, bytes);
    return bytes;
  }
  std::mt19937 random(product.seed);
  const std::size_t block = dtype_info(product.dtype).block_bytes;
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    // 0x80 and 0x7f are the ends of Q8_0's codes and of Q6_K's scales.
    constexpr std::uint8_t kEnds[] = {0x00, 0xff, 0x80, 0x7f};
    const std::uint8_t end = kEnds[random() % 4];
    const bool uniform = random() % 4 != 0;
    for (std::size_t i = 0; i < block; ++i) {
      if (product.fill == Fill::kExtremes) {
        bytes[at + i] = static_cast<std::byte>(uniform ? end : kEnds[random() % 4]);
      } else {
        bytes[at + i] = static_cast<std::byte>(random() & 0xff);
      }
    }
    put_scales(product.dtype, &bytes[at], random);
  }
  return bytes;
}

std::vector<float> make_rows(const Product& product) {
  std::mt19937 random(product.seed + 1000);
  std::vector<float> rows(static_cast<std::size_t>(product.n_x * product.n_cols));
  const auto n_cols = static_cast<std::size_t>(product.n_cols);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = i / n_cols;
    if (product.fill == Fill::kExtremes) {
      // Quantised, every element is 127 or -127: all of one sign, all of the other, or mixed.
      const bool negative = row % 3 == 0 || (row % 3 == 1 && (random() & 1) != 0);
      rows[i] = negative ? -1.5F : 1.5F;
    } else {
      rows[i] = random_float(random, -5, 1);
    }
    if (product.fill == Fill::kBroken) {
      const bool here = random() % 50 == 0;
      if (row % 6 == 1 && here) rows[i] = std::numeric_limits<float>::quiet_NaN();
      if (row % 6 == 2 && here) rows[i] = -std::numeric_limits<float>::infinity();
      if (row % 6 == 3) rows[i] = (random() & 1) != 0 ? 0.0F : -0.0F;
      if (row % 6 == 4) rows[i] = std::ldexp(rows[i], -140);
      if (row % 6 == 5) rows[i] = std::ldexp(rows[i], -100);
    }
  }
  return rows;
}

Operands::Operands(const Product& p)
    : product(p),
      weights(make_weights(p)),
      rows(make_rows(p)),
      quantized(static_cast<std::size_t>(p.n_x) * q8a_row_bytes(p.n_cols)) {
  if (!takes_quantized_rows(p.dtype)) {
    x = reinterpret_cast<const std::byte*>(rows.data());
    x_stride = p.n_cols * static_cast<std::int64_t>(sizeof(float));
    return;
  }
  x_stride = static_cast<std::int64_t>(q8a_row_bytes(p.n_cols));
  x = quantized.data();
  for (std::int64_t i = 0; i < p.n_x; ++i) {
    quantize_row(Isa::kScalar, rows.data() + i * p.n_cols, p.n_cols,
                 quantized.data() + i * x_stride);
  }
}

std::vector<float> run(MatMulKernel kernel, WeightLayout layout, Operands& operands,
                       bool tile_by_tile) {
  const Product& p = operands.product;
  const std::int64_t n_tiles = (p.n_rows + kTileRows - 1) / kTileRows;
  PackedWeight weight = plain_weight(p.dtype, operands.weights.data(), p.n_rows, p.n_cols);
  std::vector<std::byte> tiles;
  if (layout == WeightLayout::kInterleaved) {
    tiles.resize(interleaved_bytes(p.dtype, p.n_rows, p.n_cols));
    interleave(p.dtype, operands.weights.data(), p.n_rows, p.n_cols, tiles.data(), 0, n_tiles);
    weight = interleaved_weight(p.dtype, tiles.data(), p.n_rows, p.n_cols);
  }
  std::vector<float> y(static_cast<std::size_t>(p.n_x * p.n_rows), 12345.0F);
  const MatMulArgs args = {.weight = &weight,
                           .x = operands.x,
                           .x_stride = operands.x_stride,
                           .n_x = p.n_x,
                           .y = y.data(),
                           .y_stride = p.n_rows};
  const std::int64_t step = tile_by_tile ? 1 : n_tiles;
  for (std::int64_t tile = 0; tile < n_tiles; tile += step) kernel(args, tile, tile + step);
  return y;
}

std::string first_difference(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return "sizes differ";
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(want[i])) {
      return fmt::format("element {}: {:a} is not {:a}", i, got[i], want[i]);
    }
  }
  return "";
}

}  // namespace minfer::cpu
