// Matrix products: packed weights, quantised rows, and the kernels between them.
//
// Owns: the layout of weights in memory (plain as in the file, or rows interleaved in tiles of 8)
// and of Q8A rows. A driver splits the output columns into ranges of tiles, a thread calls
// mat_mul() on a range.
// Invariants: the bits of y[r][c] depend on row r of x and row c of the weight alone
// (docs/arithmetic.md), never on the range, the number of rows, or the instruction set.
// Thread-safety: const after construction; mat_mul writes only its range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "cpu/isa.h"
#include "tensor/shape.h"

namespace minfer::cpu {

/// Output columns (rows of the weight) that belong together: ranges begin at multiples of it.
inline constexpr std::int64_t kTileRows = 8;

/// One matrix [n_rows, n_cols] (or [n_matrices, n_rows, n_cols]) ready for the kernels of one
/// instruction set. The bytes are either the mapped file's or owned by the weight store.
struct PackedWeight {
  DType dtype = DType::kF32;
  bool interleaved = false;  // tiles of kTileRows rows; else row by row as in the file
  const std::byte* data = nullptr;
  std::int64_t n_rows = 0;         // of one matrix
  std::int64_t n_cols = 0;         // k
  std::int64_t n_matrices = 1;     // experts
  std::int64_t matrix_stride = 0;  // bytes from a matrix to the next
  std::int64_t tile_stride = 0;    // bytes of kTileRows rows
};

/// A plain matrix over the file's bytes, and an interleaved one over bytes made by interleave().
PackedWeight plain_weight(DType type, const std::byte* data, std::int64_t n_rows,
                          std::int64_t n_cols, std::int64_t n_matrices = 1);
PackedWeight interleaved_weight(DType type, const std::byte* data, std::int64_t n_rows,
                                std::int64_t n_cols, std::int64_t n_matrices = 1);

/// True if mat_mul takes weights of `type`.
bool can_mat_mul(DType type);
/// True if mat_mul with this weight type reads Q8A rows (all block-quantised types).
bool takes_quantized_rows(DType weight_type);

/// True if `isa` has kernels for interleaved tiles of `type`.
bool can_interleave(DType type, Isa isa);
/// Bytes of an interleaved copy of [n_rows, n_cols]; n_rows is rounded up to a whole tile.
std::uint64_t interleaved_bytes(DType type, std::int64_t n_rows, std::int64_t n_cols);
/// Re-orders the tiles [tile_begin, tile_end) of a plain matrix into `to` (its whole matrix).
/// Rows past n_rows are zero blocks.
void interleave(DType type, const std::byte* plain, std::int64_t n_rows, std::int64_t n_cols,
                std::byte* to, std::int64_t tile_begin, std::int64_t tile_end);

/// Bytes of a Q8A row of n elements (n a multiple of 32), a multiple of 64.
std::uint64_t q8a_row_bytes(std::int64_t n);
/// Quantises one row of n floats; `to` is 64-byte aligned.
void quantize_row(Isa isa, const float* x, std::int64_t n, std::byte* to);
/// Quantises the 32 floats of block `block` of a row of n elements (fused producers).
void quantize_block(Isa isa, const float* x32, std::int64_t block, std::int64_t n, std::byte* to);

/// Rows whose length is no multiple of 32 cannot meet a block-quantised weight; F32 rows are padded
/// by nobody: kernels handle tails.
///
/// y[r * y_stride + c] for r < n_x and weight rows c in [tile_begin * 8, min(tile_end * 8,
/// n_rows)).
struct MatMulArgs {
  const PackedWeight* weight = nullptr;
  std::int64_t matrix = 0;       // which of weight->n_matrices
  const std::byte* x = nullptr;  // Q8A rows if takes_quantized_rows(weight->dtype), else F32 rows
  std::int64_t x_stride = 0;     // bytes from a row to the next
  /// Null: rows 0..n_x-1 of x and y. Else row i reads x row x_rows[i] and writes y row y_rows[i]
  /// (experts: the rows that chose them).
  const std::int32_t* x_rows = nullptr;
  const std::int32_t* y_rows = nullptr;
  std::int64_t n_x = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;  // floats from a row to the next
  /// Columns are written at y[... + c - column_base].
  std::int64_t column_base = 0;
  /// tile_scratch_bytes() of the weight, 64-byte aligned.
  std::byte* tile = nullptr;
};
/// Bytes that mat_mul needs for a weight of this layout: a plain matrix whose fast kernel takes
/// tiles is re-ordered there, a few rows at a time. Often 0.
std::uint64_t tile_scratch_bytes(const PackedWeight& weight, Isa isa);
void mat_mul(Isa isa, const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end);

/// Decodes row `row` of matrix 0 to n_cols floats (embedding look-up), either layout.
void decode_row(const PackedWeight& weight, std::int64_t row, float* to);

}  // namespace minfer::cpu
