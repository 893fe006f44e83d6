#include <algorithm>

#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/mat_mul.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"
#include "cpu/product_phase.h"

namespace minfer::cpu {
namespace {

constexpr std::int64_t kBlock = 32;        // columns that are quantised together
constexpr std::int64_t kMostColumns = 64;  // of an item: its gate and up stay in the cache
constexpr std::int64_t kMostRows = 128;

/// An item is some columns of a block of rows: gate and up go to the thread's scratch, and the
/// activated product from there to the output.
class GateUpPhase final : public Phase {
 public:
  const PackedWeight* gate = nullptr;
  const PackedWeight* up = nullptr;
  std::span<const float> gate_bias, up_bias;
  ir::FusedGateUpAttrs attrs;
  ValueRef to;
  RowsRef gate_x, up_x;  // the same rows, but for weights that take other types

  static constexpr std::uint64_t kScratchBytes = 2 * kMostRows * kMostColumns * sizeof(float);

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return to.live(step) > 0 ? kParallel : 0;
  }
  void run(const PhaseContext& c) override {
    const std::int64_t live = to.live(c.step);
    RowBlocks blocks = row_blocks(live, gate_x.row_bytes);
    if (blocks.block_rows > kMostRows) {
      blocks = {kMostRows, (live + kMostRows - 1) / kMostRows};
    }
    const std::int64_t n = gate->n_rows;
    const std::int64_t width = n >= 8 * kMostColumns * c.n_threads ? kMostColumns : kBlock;
    const std::int64_t chunks = (n + width - 1) / width;
    RangeItems items(c, blocks.count * chunks);
    for (std::int64_t i = items.next(); i >= 0; i = items.next()) {
      const std::int64_t row = i / chunks * blocks.block_rows;
      const std::int64_t column = i % chunks * width;
      item(c, row, std::min(blocks.block_rows, live - row), column, std::min(width, n - column));
    }
  }

 private:
  void item(const PhaseContext& c, std::int64_t row, std::int64_t n_rows, std::int64_t column,
            std::int64_t n) const {
    auto* gates = reinterpret_cast<float*>(c.scratch);
    float* ups = gates + kMostRows * kMostColumns;
    product(c, gate, gate_x, gates, row, n_rows, column, n);
    product(c, up, up_x, ups, row, n_rows, column, n);
    const ElementwiseKernels& kernels = elementwise_kernels(c.isa);
    for (std::int64_t r = 0; r < n_rows; ++r) {
      float* g = gates + r * kMostColumns;
      float* u = ups + r * kMostColumns;
      if (!gate_bias.empty()) kernels.add(g, gate_bias.data() + column, g, n);
      if (!up_bias.empty()) kernels.add(u, up_bias.data() + column, u, n);
      if (!attrs.quantize) {
        kernels.glu(attrs.activation, g, u, to.floats(c, row + r) + column, n);
        continue;
      }
      kernels.glu(attrs.activation, g, u, g, n);
      for (std::int64_t k = 0; k < n; k += kBlock) {
        quantize_block(c.isa, g + k, (column + k) / kBlock, gate->n_rows, to.row(c, row + r));
      }
    }
  }

  static void product(const PhaseContext& c, const PackedWeight* weight, const RowsRef& x, float* y,
                      std::int64_t row, std::int64_t n_rows, std::int64_t column, std::int64_t n) {
    MatMulArgs args;
    args.weight = weight;
    args.tile = c.tile;
    args.x = x.row(c, row);
    args.x_stride = static_cast<std::int64_t>(x.row_bytes);
    args.n_x = n_rows;
    args.y = y;
    args.y_stride = kMostColumns;
    args.column_base = column;
    mat_mul(c.isa, args, column / kTileRows, (column + n + kTileRows - 1) / kTileRows);
  }
};

}  // namespace

Status compile_fused_gate_up(NodeCompiler& compiler) {
  auto phase = std::make_unique<GateUpPhase>();
  phase->attrs = compiler.attrs<ir::FusedGateUpAttrs>();
  const ValueRef x = compiler.input(0);
  phase->to = compiler.output(0);
  MINFER_ASSIGN_OR_RETURN(phase->gate, compiler.matrix(1));
  MINFER_ASSIGN_OR_RETURN(phase->up, compiler.matrix(2));
  int next = 3;
  if (phase->attrs.gate_bias) {
    MINFER_ASSIGN_OR_RETURN(phase->gate_bias, compiler.floats(next++));
  }
  if (phase->attrs.up_bias) {
    MINFER_ASSIGN_OR_RETURN(phase->up_bias, compiler.floats(next++));
  }
  if (phase->attrs.quantize && phase->gate->n_rows % kBlock != 0) {
    return internal_error("[cpu] rows that are no whole blocks of 32 cannot be quantised");
  }
  MINFER_ASSIGN_OR_RETURN(phase->gate_x, compiler.product_rows(x, *phase->gate));
  phase->up_x = phase->gate_x;
  if (takes_quantized_rows(phase->gate->dtype) != takes_quantized_rows(phase->up->dtype)) {
    MINFER_ASSIGN_OR_RETURN(phase->up_x, compiler.product_rows(x, *phase->up));
  }
  compiler.need_thread_scratch(GateUpPhase::kScratchBytes);
  compiler.add(std::move(phase));
  return ok_status();
}

}  // namespace minfer::cpu
