// The scalar reference of the products with block-quantised weights: docs/arithmetic.md as code.

#include <algorithm>
#include <type_traits>

#include "base/soft_fma.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/layout.h"
#include "cpu/kernels/mat_mul/plain.h"

namespace minfer::cpu {
namespace {

/// Blocks of one weight row that are unpacked at a time and then meet every row of x.
constexpr std::int64_t kChunkBlocks = 32;

/// 32 weights, unpacked: y += scale * d_a * sum(q a), + min * s_a.
struct Unpacked {
  std::int16_t q[kBlockElements];  // offset taken
  float scale;
  float min;
  int sub_scale[2];  // Q6_K: of elements 0-15 and 16-31
};

template <class Plain>
void unpack(const std::byte* row, std::int64_t index, Unpacked& to) {
  using Block = typename Plain::Block;
  const auto block =
      load_le<Block>(row + index / Plain::kSubs * static_cast<std::int64_t>(sizeof(Block)));
  const int sub = static_cast<int>(index % Plain::kSubs);
  Steps steps;
  Plain::load(block, sub, steps);
  for (int k = 0; k < kBlockElements; ++k) {
    const std::uint32_t code = (steps[k / 4] >> (8 * (k % 4))) & 0xffu;
    if constexpr (std::is_same_v<Plain, PlainQ8_0>) {
      to.q[k] = static_cast<std::int8_t>(code);
    } else {
      to.q[k] = static_cast<std::int16_t>(static_cast<int>(code) - Plain::kOffset);
    }
  }
  to.scale = Plain::scale(block, sub);
  if constexpr (Plain::kHasMin) to.min = Plain::min(block, sub);
  if constexpr (std::is_same_v<Plain, PlainQ6_K>) {
    to.sub_scale[0] = block.scales[2 * sub];
    to.sub_scale[1] = block.scales[2 * sub + 1];
  }
}

int dot(const std::int16_t* q, const std::int8_t* a, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += q[k] * static_cast<std::int16_t>(a[k]);
  return sum;
}

template <class Plain>
float add_block(const Unpacked& w, const Q8ABlock& a, float acc) {
  int sum = 0;
  if constexpr (std::is_same_v<Plain, PlainQ6_K>) {
    sum = w.sub_scale[0] * dot(w.q, a.q, 16) + w.sub_scale[1] * dot(w.q + 16, a.q + 16, 16);
  } else {
    sum = dot(w.q, a.q, kBlockElements);
  }
  acc = soft_fma(static_cast<float>(sum), w.scale * a.d, acc);
  if constexpr (Plain::kHasMin) acc = soft_fma(w.min, a.s, acc);
  return acc;
}

template <class Plain>
void mat_mul(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t n_blocks = weight.n_cols / kBlockElements;
  const std::int64_t row_bytes = weight.tile_stride / kTileRows;
  const std::byte* matrix = weight.data + args.matrix * weight.matrix_stride;
  const std::int64_t end = std::min(tile_end * kTileRows, weight.n_rows);
  for (std::int64_t column = tile_begin * kTileRows; column < end; ++column) {
    const std::byte* row = matrix + column * row_bytes;
    for (std::int64_t first = 0; first < n_blocks; first += kChunkBlocks) {
      const std::int64_t n = std::min(kChunkBlocks, n_blocks - first);
      Unpacked chunk[kChunkBlocks];
      for (std::int64_t b = 0; b < n; ++b) unpack<Plain>(row, first + b, chunk[b]);
      for (std::int64_t i = 0; i < args.n_x; ++i) {
        const std::int64_t x_row = args.x_rows != nullptr ? args.x_rows[i] : i;
        const std::int64_t y_row = args.y_rows != nullptr ? args.y_rows[i] : i;
        const auto* a = reinterpret_cast<const Q8ABlock*>(args.x + x_row * args.x_stride) + first;
        float& y = args.y[y_row * args.y_stride + column - args.column_base];
        float acc = first == 0 ? 0.0F : y;
        for (std::int64_t b = 0; b < n; ++b) acc = add_block<Plain>(chunk[b], a[b], acc);
        y = acc;
      }
    }
  }
}

}  // namespace

#define MINFER_GENERIC_MAT_MUL(function, plain)                                           \
  void function(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) { \
    mat_mul<plain>(args, tile_begin, tile_end);                                           \
  }
MINFER_GENERIC_MAT_MUL(mat_mul_q4_0_q8a_scalar, PlainQ4_0)
MINFER_GENERIC_MAT_MUL(mat_mul_q4_1_q8a_scalar, PlainQ4_1)
MINFER_GENERIC_MAT_MUL(mat_mul_q5_0_q8a_scalar, PlainQ5_0)
MINFER_GENERIC_MAT_MUL(mat_mul_q5_1_q8a_scalar, PlainQ5_1)
MINFER_GENERIC_MAT_MUL(mat_mul_q8_0_q8a_scalar, PlainQ8_0)
MINFER_GENERIC_MAT_MUL(mat_mul_q4_k_q8a_scalar, PlainQ4_K)
MINFER_GENERIC_MAT_MUL(mat_mul_q5_k_q8a_scalar, PlainQ5_K)
MINFER_GENERIC_MAT_MUL(mat_mul_q6_k_q8a_scalar, PlainQ6_K)
#undef MINFER_GENERIC_MAT_MUL

}  // namespace minfer::cpu
