#include "cpu/node_compiler.h"

#include <fmt/format.h>

#include "cpu/mat_mul.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

void kv_store_row(const PhaseContext& c, const KvLayerRef& kv, std::int32_t position,
                  const std::int32_t* pages, const float* k, const float* v) {
  const std::int32_t page = pages[position / backend::kPageRows];
  MINFER_CHECK(page >= 0);
  for (std::int32_t head = 0; head < kv.n_head_kv; ++head) {
    const std::int64_t at = std::int64_t{head} * kv.layout.head_dim;
    kv_store_head(c.isa, kv.layout, kv.head(c.step, page, head), position % backend::kPageRows,
                  k + at, v + at);
  }
}

NodeCompiler::NodeCompiler(Runtime& runtime, const backend::CompileRequest& request,
                           ir::NodeId node, std::vector<std::unique_ptr<Phase>>& phases)
    : runtime_(runtime),
      request_(request),
      node_(request.graph->node(node)),
      weights_(static_cast<const CpuWeights*>(request.weights)),
      phases_(phases) {}

ValueRef NodeCompiler::value(ir::ValueId id) const {
  ValueRef ref;
  ref.value = &request_.graph->value(id);
  const backend::ValuePlace& place = request_.places[static_cast<std::size_t>(id)];
  ref.offset = place.offset;
  ref.row_bytes = place.row_bytes;
  ref.placed = place.placed;
  return ref;
}

Result<const PackedWeight*> NodeCompiler::matrix(int i) {
  const std::int32_t index = request_.graph->value(node_.inputs[i]).weight;
  MINFER_CHECK(weights_ != nullptr && index >= 0 &&
               static_cast<std::size_t>(index) < weights_->size());
  const PackedWeight& weight = weights_->matrix(index);
  if (weight.data == nullptr) {
    return internal_error(
        fmt::format("[cpu] tensor \"{}\" was not loaded as a matrix", weights_->name(index)));
  }
  tile_bytes_ = std::max(tile_bytes_, tile_scratch_bytes(weight, runtime_.isa()));
  return &weight;
}

Result<std::span<const float>> NodeCompiler::floats(int i) const {
  const std::int32_t index = request_.graph->value(node_.inputs[i]).weight;
  MINFER_CHECK(weights_ != nullptr && index >= 0 &&
               static_cast<std::size_t>(index) < weights_->size());
  const std::span<const float> values = weights_->floats(index);
  if (values.empty()) {
    return internal_error(
        fmt::format("[cpu] tensor \"{}\" was not loaded as F32", weights_->name(index)));
  }
  return values;
}

Result<KvLayerRef> NodeCompiler::kv_layer(std::int32_t layer) const {
  const backend::KvGeometry* kv = request_.kv;
  if (kv == nullptr || layer < 0 || static_cast<std::size_t>(layer) >= kv->layers.size()) {
    return internal_error(fmt::format("[cpu] the KV geometry has no layer {}", layer));
  }
  const backend::KvLayer& l = kv->layers[static_cast<std::size_t>(layer)];
  MINFER_RETURN_IF_ERROR(check_kv_format(kv->format, l.head_dim));
  const KvHeadLayout layout = kv_head_layout(kv->format, l.head_dim);
  MINFER_CHECK(l.strips.n_strips == l.n_head_kv && l.strips.strip_bytes == layout.bytes);
  MINFER_CHECK(kv->groups[static_cast<std::size_t>(l.group)].n_pages > 0);
  return KvLayerRef{.layout = layout,
                    .n_head_kv = l.n_head_kv,
                    .group = l.group,
                    .first_strip = kv->strip_offset(l, 0, 0),
                    .strip_stride = kv->strip_offset(l, 1, 0) - kv->strip_offset(l, 0, 0)};
}

Result<RopeTable*> NodeCompiler::rope_table(const ir::RopeAttrs& rope, int factors) {
  RopeTableKey key;
  key.n_rot = rope.n_rot;
  key.base = rope.base;
  key.freq_scale = rope.freq_scale;
  if (factors >= 0) {
    MINFER_ASSIGN_OR_RETURN(const std::span<const float> values, floats(factors));
    key.factors.assign(values.begin(), values.end());
  }
  // Without a KV (tests of single nodes) the address space is for any sensible position.
  constexpr std::int32_t kDefaultPositions = 1 << 17;
  return runtime_.rope_table(key, request_.kv != nullptr ? request_.kv->n_ctx : kDefaultPositions);
}

RowsRef NodeCompiler::shared_rows(std::int64_t rows, std::uint64_t row_bytes) {
  const RowsRef ref{.in_shared = true, .offset = shared_bytes_, .row_bytes = aligned(row_bytes)};
  shared_bytes_ += static_cast<std::uint64_t>(rows) * ref.row_bytes;
  return ref;
}

Result<RowsRef> NodeCompiler::product_rows(const ValueRef& x, const PackedWeight& weight) {
  const bool quantized = x.value->dtype == DType::kQ8A;
  if (quantized == takes_quantized_rows(weight.dtype)) return static_cast<RowsRef>(x);
  if (quantized) {
    return internal_error(
        fmt::format("[cpu] quantised rows meet a weight of type {}", dtype_name(weight.dtype)));
  }
  const std::int64_t n = x.elements();
  const RowsRef to = shared_rows(x.capacity(), q8a_row_bytes(n));
  add_rows(x, 2 * n, [x, to, n](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) quantize_row(c.isa, x.floats(c, r), n, to.row(c, r));
  });
  return to;
}

OpDriver op_driver(ir::OpKind op) {
  static constexpr OpDriver kDrivers[] = {
#define MINFER_OP(enumerator, name, attributes, in_place) compile_##name,
#include "ir/ops.def"
#undef MINFER_OP
  };
  return kDrivers[static_cast<std::size_t>(op)];
}

}  // namespace minfer::cpu
