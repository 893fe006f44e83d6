#include "cpu/cpu_backend.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "cpu/kv_layout.h"
#include "cpu/mat_mul.h"
#include "cpu/memory_block.h"
#include "cpu/phase.h"
#include "cpu/program.h"
#include "cpu/runtime.h"
#include "cpu/weights.h"
#include "quant/codec.h"

namespace minfer::cpu {
namespace {

class CpuBuffer final : public backend::Buffer {
 public:
  static Result<std::unique_ptr<backend::Buffer>> create(std::uint64_t size_bytes) {
    auto buffer = std::make_unique<CpuBuffer>();
    MINFER_RETURN_IF_ERROR(buffer->grow(size_bytes));
    return std::unique_ptr<backend::Buffer>(std::move(buffer));
  }

  [[nodiscard]] std::uint64_t size_bytes() const override { return block_.size_bytes(); }
  [[nodiscard]] std::byte* host_data() override { return block_.data(); }
  Status grow(std::uint64_t size_bytes) override {
    if (size_bytes <= block_.size_bytes()) return ok_status();
    block_ = MemoryBlock();  // the old one goes first: its contents are given up anyway
    MINFER_ASSIGN_OR_RETURN(block_, MemoryBlock::create(size_bytes));
    return ok_status();
  }

 private:
  MemoryBlock block_;
};

class CpuBackend final : public backend::Backend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : options_(options),
        runtime_(options.isa, options.n_threads, options.op_timing, options.serial_cost) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}, {} thread{}", isa_title(options_.isa), options_.n_threads,
                       options_.n_threads == 1 ? "" : "s");
  }

  [[nodiscard]] bool can_run(const ir::Graph& graph, const ir::Node& node) const override {
    for (const ir::ValueId id : node.inputs) {
      if (id == ir::kNoValue) continue;
      const ir::Value& value = graph.value(id);
      if (value.kind != ir::ValueKind::kWeight) continue;
      const bool matrix = value.shape.rank() > 1 && node.op != ir::OpKind::kEmbed;
      if (matrix ? !can_mat_mul(value.dtype) : quant::codec(value.dtype) == nullptr) return false;
    }
    return true;
  }
  [[nodiscard]] bool wants_quantized_rows(DType weight_type) const override {
    return takes_quantized_rows(weight_type);
  }
  [[nodiscard]] bool can_fuse(ir::OpKind /*fused_op*/) const override { return true; }
  [[nodiscard]] std::uint64_t row_bytes(DType type, std::int64_t elements) const override {
    if (type == DType::kQ8A) return q8a_row_bytes(elements);
    return aligned(row_size_bytes(type, static_cast<std::uint64_t>(elements)));
  }
  [[nodiscard]] backend::KvStrips kv_strips(backend::KvFormat format, std::int32_t n_head_kv,
                                            std::int32_t head_dim) const override {
    return {.n_strips = n_head_kv, .strip_bytes = kv_head_layout(format, head_dim).bytes};
  }

  Result<std::unique_ptr<backend::Buffer>> allocate(std::uint64_t size_bytes) override {
    return CpuBuffer::create(size_bytes);
  }
  Result<std::unique_ptr<backend::Weights>> load_weights(
      std::span<const backend::WeightSource> sources) override {
    MINFER_ASSIGN_OR_RETURN(
        std::unique_ptr<backend::Weights> weights,
        CpuWeights::load(runtime_, sources,
                         {.repack = options_.repack, .may_copy = options_.may_copy},
                         options_.load_progress));
    return weights;
  }
  Result<std::unique_ptr<backend::Program>> compile(
      const backend::CompileRequest& request) override {
    MINFER_ASSIGN_OR_RETURN(std::unique_ptr<backend::Program> program,
                            CpuProgram::compile(runtime_, request));
    return program;
  }

  Status copy_from_host(backend::Buffer& to, std::uint64_t offset,
                        std::span<const std::byte> from) override {
    MINFER_CHECK(offset + from.size() <= to.size_bytes());
    std::memcpy(to.host_data() + offset, from.data(), from.size());
    return ok_status();
  }
  Status copy_to_host(std::span<std::byte> to, backend::Buffer& from,
                      std::uint64_t offset) override {
    MINFER_CHECK(offset + to.size() <= from.size_bytes());
    std::memcpy(to.data(), from.host_data() + offset, to.size());
    return ok_status();
  }

  Status read_kv_row(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                     const std::byte* group_base, std::int32_t page, std::int32_t row,
                     std::span<float> k, std::span<float> v) const override {
    const std::size_t n = static_cast<std::size_t>(layer.n_head_kv * layer.head_dim);
    if (k.size() < n || v.size() < n || row < 0 || row >= backend::kPageRows) {
      return internal_error("[cpu] read_kv_row: no such row, or too little room for it");
    }
    const KvHeadLayout layout = kv_head_layout(geometry.format, layer.head_dim);
    for (std::int32_t h = 0; h < layer.n_head_kv; ++h) {
      const auto at = static_cast<std::size_t>(h * layer.head_dim);
      kv_read_head(layout, group_base + geometry.strip_offset(layer, h, page), row, k.data() + at,
                   v.data() + at);
    }
    return ok_status();
  }

  Status pack_kv_rows(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                      const std::byte* group_base, std::int32_t page, std::int32_t row,
                      std::int32_t n, std::span<std::byte> to) const override {
    MINFER_CHECK(row >= 0 && n >= 0 && row + n <= backend::kPageRows);
    MINFER_CHECK(to.size() == packed_bytes(geometry, layer, n));
    const KvHeadLayout layout = kv_head_layout(geometry.format, layer.head_dim);
    std::byte* at = to.data();
    for (std::int32_t h = 0; h < layer.n_head_kv; ++h) {
      at = kv_pack_head(layout, group_base + geometry.strip_offset(layer, h, page), row, n, at);
    }
    return ok_status();
  }
  Status unpack_kv_rows(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                        std::byte* group_base, std::int32_t page, std::int32_t row, std::int32_t n,
                        std::int32_t n_packed, std::span<const std::byte> from) const override {
    MINFER_CHECK(row >= 0 && n >= 0 && row + n <= backend::kPageRows && n <= n_packed);
    MINFER_CHECK(from.size() == packed_bytes(geometry, layer, n_packed));
    const KvHeadLayout layout = kv_head_layout(geometry.format, layer.head_dim);
    const std::byte* at = from.data();
    for (std::int32_t h = 0; h < layer.n_head_kv; ++h) {
      at = kv_unpack_head(layout, group_base + geometry.strip_offset(layer, h, page), row, n,
                          n_packed, at);
    }
    return ok_status();
  }

  std::vector<backend::OpTiming> take_op_timings() override { return runtime_.take_timings(); }

 private:
  static std::uint64_t packed_bytes(const backend::KvGeometry& geometry,
                                    const backend::KvLayer& layer, std::int32_t n) {
    return static_cast<std::uint64_t>(n) *
           backend::packed_kv_row_bytes(geometry.format, layer.n_head_kv, layer.head_dim);
  }

  CpuOptions options_;
  Runtime runtime_;
};

}  // namespace

Result<std::unique_ptr<backend::Backend>> make_cpu_backend(const CpuOptions& options) {
  if (options.n_threads < 1) {
    return invalid_argument(
        fmt::format("the CPU needs at least one thread, not {}", options.n_threads));
  }
  return std::unique_ptr<backend::Backend>(std::make_unique<CpuBackend>(options));
}

}  // namespace minfer::cpu
