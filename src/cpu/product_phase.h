// ProductPhase: one or more matrix products of the same rows, in one sweep over all their columns.
#pragma once

#include <cstdint>
#include <span>

#include "cpu/mat_mul.h"
#include "cpu/node_compiler.h"

namespace minfer::cpu {

struct Product {
  const PackedWeight* weight = nullptr;
  RowsRef y;  // F32 [live rows, weight->n_rows]
};

/// How rows are cut into blocks whose x stays in a core's cache while weights stream by.
struct RowBlocks {
  std::int64_t block_rows = 0;
  std::int64_t count = 0;
};
RowBlocks row_blocks(std::int64_t live_rows, std::uint64_t x_row_bytes);

/// Appends the products of the rows of `x`: one phase for all weights that read the same rows, and
/// before it one that quantises them where the weights take Q8A and x is F32.
Status add_products(NodeCompiler& compiler, const ValueRef& x, std::span<const Product> products);

}  // namespace minfer::cpu
