// Attention of a block of query rows over one page of keys and values.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace minfer::cpu {

/// One piece (docs/arithmetic.md): n_rows query rows against the 64 positions of a page.
struct AttentionPiece {
  /// Keys [head_dim][64] and values [64][v_stride], widened to F32 or as an f16 page holds them:
  /// one of each pair is set.
  const float* k = nullptr;
  const float* v = nullptr;
  const std::uint16_t* k_f16 = nullptr;
  const std::uint16_t* v_f16 = nullptr;
  std::int32_t head_dim = 0;
  std::int32_t v_stride = 0;  // a multiple of 16
  std::int32_t n_rows = 0;
  const float* q = nullptr;  // [n_rows][head_dim], scaled
  /// Positions [begin[r], end[r]) of the page count for row r; an empty range gives no result.
  const std::int32_t* begin = nullptr;
  const std::int32_t* end = nullptr;
  float* p = nullptr;  // [n_rows][64], scratch
  // Results.
  float* m = nullptr;  // [n_rows]: largest score
  float* l = nullptr;  // [n_rows]: sum of p
  float* o = nullptr;  // [n_rows][v_stride]: sum of p v
};

/// Results of a piece, and those of the pieces before it that they are merged into.
struct AttentionMerge {
  std::int32_t n_rows = 0;
  std::int32_t stride = 0;  // floats from a row of o to the next; a multiple of 16
  /// Rows with an empty range have nothing to merge.
  const std::int32_t* begin = nullptr;
  const std::int32_t* end = nullptr;
  const float* m = nullptr;
  const float* l = nullptr;
  const float* o = nullptr;
  float* big_m = nullptr;
  float* big_l = nullptr;  // kNoPiece: this piece is the row's first
  float* big_o = nullptr;
};
inline constexpr float kNoPiece = -1.0F;  // a sum of exponentials is never negative

struct AttentionKernels {
  void (*piece)(const AttentionPiece& args);
  void (*merge)(const AttentionMerge& args);
  /// to[d] = o[d] * (1 / l) for d < n.
  void (*finish)(float l, const float* o, float* to, std::int32_t n);
};

/// The kernels for `isa`, or for the best set below it that has any.
const AttentionKernels& attention_kernels(Isa isa);

}  // namespace minfer::cpu
