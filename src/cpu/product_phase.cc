#include "cpu/product_phase.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace minfer::cpu {
namespace {

/// Half of a second-level cache of 512 KiB, the smallest that counts.
constexpr std::uint64_t kBlockBytes = 256 << 10;
constexpr std::int64_t kManyRows = 16;
constexpr std::int64_t kTilesOfManyRows = 4;

class ProductPhase final : public Phase {
 public:
  ProductPhase(const ValueRef& rows, const RowsRef& x, std::vector<Product> products)
      : rows_(rows), x_(x), products_(std::move(products)) {}

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return rows_.live(step) > 0 ? kParallel : 0;
  }

  void run(const PhaseContext& c) override {
    const std::int64_t live = rows_.live(c.step);
    const RowBlocks blocks = row_blocks(live, x_.row_bytes);
    std::int64_t total_tiles = 0;
    for (const Product& p : products_) total_tiles += tiles(p);
    const std::int64_t chunk = tiles_at_once(total_tiles, c.n_threads, live);
    std::int64_t chunks = 0;
    for (const Product& p : products_) chunks += (tiles(p) + chunk - 1) / chunk;
    RangeItems items(c, blocks.count * chunks);
    for (std::int64_t i = items.next(); i >= 0; i = items.next()) {
      const std::int64_t begin = i / chunks * blocks.block_rows;
      run_item(c, begin, std::min(begin + blocks.block_rows, live), i % chunks, chunk);
    }
  }

 private:
  static std::int64_t tiles(const Product& p) {
    return (p.weight->n_rows + kTileRows - 1) / kTileRows;
  }

  /// Enough parts that threads end together, and large enough that taking one costs nothing. Many
  /// rows meet up to 4 tiles at a time.
  [[nodiscard]] std::int64_t tiles_at_once(std::int64_t total, int n_threads,
                                           std::int64_t live) const {
    constexpr std::int64_t kLeastBytes = 8 << 10;
    const std::int64_t tile_bytes = std::max<std::int64_t>(products_[0].weight->tile_stride, 1);
    const std::int64_t parts = std::int64_t{32} * n_threads;
    const std::int64_t least =
        std::max({(total + parts - 1) / parts, (kLeastBytes + tile_bytes - 1) / tile_bytes,
                  std::int64_t{1}});
    return live < kManyRows ? least
                            : (least + kTilesOfManyRows - 1) / kTilesOfManyRows * kTilesOfManyRows;
  }

  /// Chunk number `item` of the products laid end to end, for rows [begin, end).
  void run_item(const PhaseContext& c, std::int64_t begin, std::int64_t end, std::int64_t item,
                std::int64_t chunk) const {
    for (const Product& p : products_) {
      const std::int64_t n_tiles = tiles(p);
      const std::int64_t chunks = (n_tiles + chunk - 1) / chunk;
      if (item >= chunks) {
        item -= chunks;
        continue;
      }
      MatMulArgs args;
      args.weight = p.weight;
      args.tile = c.tile;
      args.x = x_.row(c, begin);
      args.x_stride = static_cast<std::int64_t>(x_.row_bytes);
      args.n_x = end - begin;
      args.y = p.y.floats(c, begin);
      args.y_stride = static_cast<std::int64_t>(p.y.row_bytes / sizeof(float));
      mat_mul(c.isa, args, item * chunk, std::min((item + 1) * chunk, n_tiles));
      return;
    }
  }

  ValueRef rows_;
  RowsRef x_;
  std::vector<Product> products_;
};

}  // namespace

RowBlocks row_blocks(std::int64_t live_rows, std::uint64_t x_row_bytes) {
  constexpr std::int64_t kLeastRows = 16;
  const auto fit = static_cast<std::int64_t>(kBlockBytes / std::max<std::uint64_t>(x_row_bytes, 1));
  const std::int64_t most = std::max(fit, kLeastRows);
  RowBlocks blocks;
  blocks.count = (live_rows + most - 1) / most;
  if (blocks.count == 0) return blocks;
  // Even blocks, of whole groups of 8 rows where there are more than one.
  blocks.block_rows = (live_rows + blocks.count - 1) / blocks.count;
  if (blocks.count > 1) blocks.block_rows = (blocks.block_rows + 7) / 8 * 8;
  return blocks;
}

Status add_products(NodeCompiler& compiler, const ValueRef& x, std::span<const Product> products) {
  for (const bool quantized : {false, true}) {
    std::vector<Product> group;
    for (const Product& p : products) {
      if (takes_quantized_rows(p.weight->dtype) == quantized) group.push_back(p);
    }
    if (group.empty()) continue;
    MINFER_ASSIGN_OR_RETURN(const RowsRef rows, compiler.product_rows(x, *group[0].weight));
    compiler.add(std::make_unique<ProductPhase>(x, rows, std::move(group)));
  }
  return ok_status();
}

}  // namespace minfer::cpu
