// The scalar reference of the products with block-quantised weights: docs/arithmetic.md as code.

#include <algorithm>
#include <type_traits>

#include "base/soft_fma.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/layout.h"
#include "cpu/kernels/mat_mul/plain.h"
#include "cpu/kernels/mat_mul/plain_codes.h"

namespace minfer::cpu {
namespace {

/// Blocks of one weight row that are unpacked at a time and then meet every row of x.
constexpr std::int64_t kChunkBlocks = 32;

/// 32 weights, unpacked: y += scale * d_a * sum(q a) for each half, + min * s_a.
struct Unpacked {
  std::int16_t q[kBlockElements];  // offset taken
  float scale;
  float min;
  int sub_scale[2];  // of elements 0-15 and 16-31, where the type has two
  int sub_min[2];    // Q2_K
};

/// The types of quant/codes.h.
template <class Plain>
concept HasCodes = requires { Plain::kTwoScales; };

template <class Plain>
constexpr bool has_two_scales() {
  if constexpr (HasCodes<Plain>) return Plain::kTwoScales;
  return std::is_same_v<Plain, PlainQ6_K>;
}
template <class Plain>
constexpr bool has_two_mins() {
  if constexpr (HasCodes<Plain>) return Plain::kTwoMins;
  return false;
}

template <HasCodes Plain>
void unpack_codes(const typename Plain::Block& block, int sub, Unpacked& to) {
  const quant::Codes codes = quant::codes_of(block, sub);
  for (int k = 0; k < kBlockElements; ++k) to.q[k] = codes.code[k];
  to.scale = quant::unit_of(block);
  if constexpr (Plain::kTwoScales) {
    for (int h = 0; h < 2; ++h) to.sub_scale[h] = codes.scale[h];
  } else {
    to.scale *= static_cast<float>(codes.scale[0]);
  }
  if constexpr (Plain::kTwoMins) {
    const quant::Mins mins = quant::mins_of(block, sub);
    for (int h = 0; h < 2; ++h) to.sub_min[h] = mins.min[h];
    to.min = quant::min_unit_of(block);
  }
}

template <class Plain>
void unpack_steps(const typename Plain::Block& block, int sub, Unpacked& to) {
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

template <class Plain>
void unpack(const std::byte* row, std::int64_t index, Unpacked& to) {
  using Block = typename Plain::Block;
  const auto block =
      load_le<Block>(row + index / Plain::kSubs * static_cast<std::int64_t>(sizeof(Block)));
  const int sub = static_cast<int>(index % Plain::kSubs);
  if constexpr (HasCodes<Plain>) {
    unpack_codes<Plain>(block, sub, to);
  } else {
    unpack_steps<Plain>(block, sub, to);
  }
}

#if defined(__GNUC__) && !defined(__clang__)
// GCC unrolls a loop of 16 before it looks for vectors, and then finds none.
#define MINFER_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define MINFER_KEEP_LOOP
#endif

int half_dot(const std::int16_t* q, const std::int8_t* a) {
  int sum = 0;
  MINFER_KEEP_LOOP
  for (int k = 0; k < kHalfElements; ++k) sum += q[k] * static_cast<std::int16_t>(a[k]);
  return sum;
}

int half_sum(const std::int8_t* a) {
  int sum = 0;
  MINFER_KEEP_LOOP
  for (int k = 0; k < kHalfElements; ++k) sum += a[k];
  return sum;
}

template <class Plain>
float add_block(const Unpacked& w, const Q8ABlock& a, float acc) {
  for (int h = 0; h < 2; ++h) {
    int sum = half_dot(w.q + h * kHalfElements, a.q + h * kHalfElements);
    if constexpr (has_two_scales<Plain>()) sum *= w.sub_scale[h];
    acc = soft_fma(static_cast<float>(sum), w.scale * a.d[h], acc);
  }
  if constexpr (Plain::kHasMin) acc = soft_fma(w.min, a.s, acc);
  if constexpr (has_two_mins<Plain>()) {
    for (int h = 0; h < 2; ++h) {
      const int offset = -(w.sub_min[h] * half_sum(a.q + h * kHalfElements));
      acc = soft_fma(static_cast<float>(offset), w.min * a.d[h], acc);
    }
  }
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
MINFER_GENERIC_MAT_MUL(mat_mul_q2_k_q8a_scalar, PlainQ2_K)
MINFER_GENERIC_MAT_MUL(mat_mul_q3_k_q8a_scalar, PlainQ3_K)
MINFER_GENERIC_MAT_MUL(mat_mul_iq4_nl_q8a_scalar, PlainIQ4_NL)
MINFER_GENERIC_MAT_MUL(mat_mul_iq4_xs_q8a_scalar, PlainIQ4_XS)
MINFER_GENERIC_MAT_MUL(mat_mul_mxfp4_q8a_scalar, PlainMXFP4)
MINFER_GENERIC_MAT_MUL(mat_mul_iq3_s_q8a_scalar, PlainIQ3_S)
MINFER_GENERIC_MAT_MUL(mat_mul_iq3_xxs_q8a_scalar, PlainIQ3_XXS)
MINFER_GENERIC_MAT_MUL(mat_mul_iq2_s_q8a_scalar, PlainIQ2_S)
MINFER_GENERIC_MAT_MUL(mat_mul_iq2_xs_q8a_scalar, PlainIQ2_XS)
MINFER_GENERIC_MAT_MUL(mat_mul_iq2_xxs_q8a_scalar, PlainIQ2_XXS)
MINFER_GENERIC_MAT_MUL(mat_mul_iq1_s_q8a_scalar, PlainIQ1_S)
MINFER_GENERIC_MAT_MUL(mat_mul_iq1_m_q8a_scalar, PlainIQ1_M)
MINFER_GENERIC_MAT_MUL(mat_mul_tq1_0_q8a_scalar, PlainTQ1_0)
MINFER_GENERIC_MAT_MUL(mat_mul_tq2_0_q8a_scalar, PlainTQ2_0)
#undef MINFER_GENERIC_MAT_MUL

}  // namespace minfer::cpu
