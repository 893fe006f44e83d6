// scalar_ops: every primitive operation as a plain loop over F32 rows, with the order of operations
// of docs/arithmetic.md, for the backends of the tests.
//
// KV pages: [layer][position][K, V][n_head_kv * head_dim] in f32 or f16. Weights are F32.
// Invariants: allocates nothing. Reads live rows alone.
// Thread-safety: pure functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"

namespace minfer::tests {

/// Decoded weights, by index of the weight table.
class ScalarWeights : public backend::Weights {
 public:
  [[nodiscard]] std::uint64_t extra_bytes() const override { return 0; }
  std::vector<std::vector<float>> values;
};

/// A step in addresses that the caller of run_node may follow.
struct ScalarStep {
  const ir::Graph* graph = nullptr;
  std::span<const backend::ValuePlace> places;
  const ScalarWeights* weights = nullptr;
  std::byte* arena = nullptr;
  std::span<std::byte* const> group_base;
  std::span<const std::byte* const> state_read;
  std::span<std::byte* const> state_write;
  backend::StepContext step;  // extents, geometry and slot offsets; its addresses are not used
};

/// True for a primitive operation whose weights are F32.
bool scalar_can_run(const ir::Graph& graph, const ir::Node& node);
void run_node(const ScalarStep& step, const ir::Node& node);

std::uint64_t scalar_row_bytes(DType type, std::int64_t elements);
backend::KvStrips scalar_kv_strips(backend::KvFormat format, std::int32_t n_head_kv,
                                   std::int32_t head_dim);
void scalar_read_kv_row(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                        const std::byte* group_base, std::int32_t page, std::int32_t row,
                        std::span<float> k, std::span<float> v);
/// F32 copies of the sources; kUnsupported for any type but F32.
Result<std::unique_ptr<ScalarWeights>> scalar_weights(
    std::span<const backend::WeightSource> sources);

}  // namespace minfer::tests
