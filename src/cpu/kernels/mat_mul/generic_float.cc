// The scalar reference of the products with F32, F16 and BF16 weights: 16 lanes over k.

#include <algorithm>

#include "base/bytes.h"
#include "base/half.h"
#include "base/soft_fma.h"
#include "cpu/kernels/mat_mul/kernels.h"

namespace minfer::cpu {
namespace {

constexpr int kLanes = 16;
constexpr std::int64_t kChunk = 512;  // elements widened at a time; a multiple of the lanes

struct F32 {
  using Stored = float;
  static float widen(Stored value) { return value; }
};
struct F16 {
  using Stored = std::uint16_t;
  static float widen(Stored value) { return f16_to_f32(value); }
};
struct BF16 {
  using Stored = std::uint16_t;
  static float widen(Stored value) { return bf16_to_f32(value); }
};

/// Adds n products to the lanes. A tail is padded with zeros, as vector code does: adding
/// fma(0, 0, r) turns a lane that is -0 into +0.
void add_products(const float* w, const float* x, std::int64_t n, float (&lanes)[kLanes]) {
  for (std::int64_t k = 0; k < n; k += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      const bool inside = k + j < n;
      const float a = inside ? w[k + j] : 0.0F;
      const float b = inside ? x[k + j] : 0.0F;
      lanes[j] = soft_fma(a, b, lanes[j]);
    }
  }
}

float sum_of_lanes(float (&lanes)[kLanes]) {
  for (int width = kLanes / 2; width >= 1; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

template <class Type>
void mat_mul(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t row_bytes = weight.tile_stride / kTileRows;
  const std::byte* matrix = weight.data + args.matrix * weight.matrix_stride;
  const std::int64_t end = std::min(tile_end * kTileRows, weight.n_rows);
  for (std::int64_t column = tile_begin * kTileRows; column < end; ++column) {
    const std::byte* row = matrix + column * row_bytes;
    for (std::int64_t i = 0; i < args.n_x; ++i) {
      const std::int64_t x_row = args.x_rows != nullptr ? args.x_rows[i] : i;
      const std::int64_t y_row = args.y_rows != nullptr ? args.y_rows[i] : i;
      const auto* x = reinterpret_cast<const float*>(args.x + x_row * args.x_stride);
      float lanes[kLanes] = {};
      for (std::int64_t first = 0; first < weight.n_cols; first += kChunk) {
        const std::int64_t n = std::min(kChunk, weight.n_cols - first);
        float wide[kChunk];
        for (std::int64_t k = 0; k < n; ++k) {
          using Stored = typename Type::Stored;
          const auto offset = (first + k) * static_cast<std::int64_t>(sizeof(Stored));
          wide[k] = Type::widen(load_le<Stored>(row + offset));
        }
        add_products(wide, x + first, n, lanes);
      }
      args.y[y_row * args.y_stride + column - args.column_base] = sum_of_lanes(lanes);
    }
  }
}

}  // namespace

void mat_mul_f32_f32_scalar(const MatMulArgs& args, std::int64_t tile_begin,
                            std::int64_t tile_end) {
  mat_mul<F32>(args, tile_begin, tile_end);
}
void mat_mul_f16_f32_scalar(const MatMulArgs& args, std::int64_t tile_begin,
                            std::int64_t tile_end) {
  mat_mul<F16>(args, tile_begin, tile_end);
}
void mat_mul_bf16_f32_scalar(const MatMulArgs& args, std::int64_t tile_begin,
                             std::int64_t tile_end) {
  mat_mul<BF16>(args, tile_begin, tile_end);
}

}  // namespace minfer::cpu
