#include "tests/support/reference_backend.h"

#include <cstring>
#include <utility>

namespace minfer::tests {
namespace {

class HostBuffer : public backend::Buffer {
 public:
  explicit HostBuffer(std::uint64_t size_bytes) : bytes_(size_bytes) {}
  [[nodiscard]] std::uint64_t size_bytes() const override { return bytes_.size(); }
  [[nodiscard]] std::byte* host_data() override { return bytes_.data(); }
  Status grow(std::uint64_t size_bytes) override {
    bytes_.assign(size_bytes, std::byte{0});
    return ok_status();
  }

 private:
  std::vector<std::byte> bytes_;
};

class ReferenceProgram : public backend::Program {
 public:
  ReferenceProgram(ReferenceBackend& owner, const backend::CompileRequest& request)
      : owner_(owner), request_(request) {}

  Status run(const backend::StepContext& step) override {
    if (!owner_.fail_next.ok()) return std::exchange(owner_.fail_next, {});
    ScalarStep scalar{.graph = request_.graph,
                      .places = request_.places,
                      .weights = static_cast<const ScalarWeights*>(request_.weights),
                      .arena = step.arena,
                      .group_base = step.kv.group_base,
                      .state_read = step.kv.state_read,
                      .state_write = step.kv.state_write,
                      .step = step};
    for (ir::NodeId id : request_.nodes) {
      const ir::Node& node = request_.graph->node(id);
      if (step.cancel != nullptr && step.cancel->load()) return cancelled("cancelled");
      if (owner_.before_node) owner_.before_node(node);
      run_node(scalar, node);
    }
    return ok_status();
  }

 private:
  ReferenceBackend& owner_;
  backend::CompileRequest request_;
};

}  // namespace

Result<std::unique_ptr<backend::Buffer>> ReferenceBackend::allocate(std::uint64_t size_bytes) {
  return std::unique_ptr<backend::Buffer>(std::make_unique<HostBuffer>(size_bytes));
}

Result<std::unique_ptr<backend::Weights>> ReferenceBackend::load_weights(
    std::span<const backend::WeightSource> sources) {
  MINFER_ASSIGN_OR_RETURN(auto weights, scalar_weights(sources));
  return std::unique_ptr<backend::Weights>(std::move(weights));
}

Result<std::unique_ptr<backend::Program>> ReferenceBackend::compile(
    const backend::CompileRequest& request) {
  return std::unique_ptr<backend::Program>(std::make_unique<ReferenceProgram>(*this, request));
}

Status ReferenceBackend::copy_from_host(backend::Buffer& to, std::uint64_t offset,
                                        std::span<const std::byte> from) {
  MINFER_CHECK(offset + from.size() <= to.size_bytes());
  std::memcpy(to.host_data() + offset, from.data(), from.size());
  return ok_status();
}

Status ReferenceBackend::copy_to_host(std::span<std::byte> to, backend::Buffer& from,
                                      std::uint64_t offset) {
  MINFER_CHECK(offset + to.size() <= from.size_bytes());
  std::memcpy(to.data(), from.host_data() + offset, to.size());
  return ok_status();
}

Status ReferenceBackend::read_kv_row(const backend::KvGeometry& geometry,
                                     const backend::KvLayer& layer, const std::byte* group_base,
                                     std::int32_t page, std::int32_t row, std::span<float> k,
                                     std::span<float> v) const {
  scalar_read_kv_row(geometry, layer, group_base, page, row, k, v);
  return ok_status();
}

}  // namespace minfer::tests
