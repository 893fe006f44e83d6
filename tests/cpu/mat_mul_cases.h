// mat_mul_cases.h: random and extreme operands for the tests of matrix kernels, and one call of a
// kernel on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/mat_mul.h"

namespace minfer::cpu {

enum class Fill { kRandom, kExtremes, kBroken };

/// One product: [n_rows, n_cols] weights, n_x rows.
struct Product {
  DType dtype = DType::kF32;
  std::int64_t n_rows = 0;
  std::int64_t n_cols = 0;
  std::int64_t n_x = 0;
  Fill fill = Fill::kRandom;
  std::uint32_t seed = 1;
};

/// Bytes at a 64-byte aligned address.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size) : storage_(size + 64) {}
  std::byte* data() {
    void* start = storage_.data();
    std::size_t space = storage_.size();
    return static_cast<std::byte*>(std::align(64, 1, start, space));
  }

 private:
  std::vector<std::byte> storage_;
};

/// Random blocks with finite scales; kExtremes: every code the lowest, the highest or one of them
/// at random.
std::vector<std::byte> make_weights(const Product& product);
/// [n_x, n_cols]. kBroken: some rows hold a NaN, an infinity, only zeros, or tiny values.
std::vector<float> make_rows(const Product& product);

/// The operands of one product, in the forms that kernels read.
struct Operands {
  explicit Operands(const Product& product);

  Product product;
  std::vector<std::byte> weights;
  std::vector<float> rows;
  AlignedBytes quantized;
  std::int64_t x_stride = 0;
  const std::byte* x = nullptr;
};

/// y [n_x, n_rows] by `kernel` over all tiles in one range, or tile by tile.
std::vector<float> run(MatMulKernel kernel, WeightLayout layout, Operands& operands,
                       bool tile_by_tile = false);

/// "" if all bits agree (any NaN equals any NaN), else where and what differs first.
std::string first_difference(const std::vector<float>& got, const std::vector<float>& want);

}  // namespace minfer::cpu
