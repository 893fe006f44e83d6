// interleave.h: re-ordering of plain rows into tiles (layout.h) and back, a row of a table a type.
//
// Invariants: nothing is lost: extracting a row gives the file's bytes again.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace minfer::cpu {

struct Interleaver {
  DType dtype;
  std::int64_t block_elements;    // of one block of a plain row
  std::int64_t plain_bytes;       // of that block
  std::int64_t tile_block_bytes;  // of one block of 8 rows
  /// Makes one block of a tile. rows[r] is the plain block of row r, or null past the last row.
  void (*pack)(const std::byte* const* rows, std::byte* to);
  /// The plain block of row `lane`, from one block of a tile.
  void (*extract)(const std::byte* tile_block, int lane, std::byte* to);
};

/// Those of the types of quant/codes.h.
std::span<const Interleaver> codes_interleavers();

/// Null for a type that has no tiles.
const Interleaver* interleaver(DType type);

}  // namespace minfer::cpu
