// ReferenceBackend: a CPU of the tests: host memory, one thread, scalar loops, no fusion.
//
// Thread-safety: as any backend.
#pragma once

#include <functional>
#include <set>

#include "backend/backend.h"
#include "tests/support/scalar_ops.h"

namespace minfer::tests {

class ReferenceBackend : public backend::Backend {
 public:
  /// Called before each node that runs.
  std::function<void(const ir::Node&)> before_node;
  std::set<ir::OpKind> refused;
  /// What the next run of a program gives in place of running, once.
  Status fail_next;

  [[nodiscard]] std::string_view name() const override { return "ref"; }
  [[nodiscard]] std::string description() const override { return "scalar loops"; }
  [[nodiscard]] bool can_run(const ir::Graph& graph, const ir::Node& node) const override {
    return !refused.contains(node.op) && scalar_can_run(graph, node);
  }
  [[nodiscard]] bool wants_quantized_rows(DType) const override { return false; }
  [[nodiscard]] bool can_fuse(ir::OpKind) const override { return false; }
  [[nodiscard]] std::uint64_t row_bytes(DType type, std::int64_t elements) const override {
    return scalar_row_bytes(type, elements);
  }
  [[nodiscard]] backend::KvStrips kv_strips(backend::KvFormat format, std::int32_t n_head_kv,
                                            std::int32_t head_dim) const override {
    return scalar_kv_strips(format, n_head_kv, head_dim);
  }
  Result<std::unique_ptr<backend::Buffer>> allocate(std::uint64_t size_bytes) override;
  Result<std::unique_ptr<backend::Weights>> load_weights(
      std::span<const backend::WeightSource> sources) override;
  Result<std::unique_ptr<backend::Program>> compile(
      const backend::CompileRequest& request) override;
  Status copy_from_host(backend::Buffer& to, std::uint64_t offset,
                        std::span<const std::byte> from) override;
  Status copy_to_host(std::span<std::byte> to, backend::Buffer& from,
                      std::uint64_t offset) override;
  Status read_kv_row(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                     const std::byte* group_base, std::int32_t page, std::int32_t row,
                     std::span<float> k, std::span<float> v) const override;
};

}  // namespace minfer::tests
