// A backend that only answers questions: what it can run and fuse is set by the test.
#pragma once

#include <set>
#include <string>

#include "backend/backend.h"

namespace minfer::ir_test {

class FakeBackend : public backend::Backend {
 public:
  std::set<ir::OpKind> refused;  // can_run says no
  std::set<ir::OpKind> unfused;  // can_fuse says no
  bool quantizes = true;         // wants kQ8A rows for block-quantised weights

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] std::string description() const override { return "fake"; }
  [[nodiscard]] bool can_run(const ir::Graph&, const ir::Node& node) const override {
    return !refused.contains(node.op);
  }
  [[nodiscard]] bool wants_quantized_rows(DType type) const override {
    return quantizes && is_block_quantized(type);
  }
  [[nodiscard]] bool can_fuse(ir::OpKind op) const override { return !unfused.contains(op); }
  [[nodiscard]] std::uint64_t row_bytes(DType, std::int64_t elements) const override {
    return static_cast<std::uint64_t>(elements) * 4;
  }
  [[nodiscard]] backend::KvStrips kv_strips(backend::KvFormat, std::int32_t,
                                            std::int32_t) const override {
    return {};
  }
  Result<std::unique_ptr<backend::Buffer>> allocate(std::uint64_t) override { return none(); }
  Result<std::unique_ptr<backend::Weights>> load_weights(
      std::span<const backend::WeightSource>) override {
    return none();
  }
  Result<std::unique_ptr<backend::Program>> compile(const backend::CompileRequest&) override {
    return none();
  }
  Status copy_from_host(backend::Buffer&, std::uint64_t, std::span<const std::byte>) override {
    return none();
  }
  Status copy_to_host(std::span<std::byte>, backend::Buffer&, std::uint64_t) override {
    return none();
  }
  Status read_kv_row(const backend::KvGeometry&, const backend::KvLayer&, const std::byte*,
                     std::int32_t, std::int32_t, std::span<float>,
                     std::span<float>) const override {
    return none();
  }

 private:
  static Status none() { return unsupported("the fake backend holds nothing"); }
};

}  // namespace minfer::ir_test
