#include "ir/builder.h"

#include <fmt/format.h>

#include "ir/op.h"

namespace minfer::ir {
namespace {

// Nodes of a model of 40 layers: one allocation for nearly every graph.
constexpr std::size_t kUsualNodes = 800;

bool positive(const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] <= 0) return false;
  }
  return shape.rank() > 0;
}

}  // namespace

Builder::Builder() { graph_.reserve(kUsualNodes); }

ValueId Builder::input(InputKind kind, Shape shape, RowDomain rows, std::int32_t group) {
  if (!status_.ok()) return kNoValue;
  if (!positive(shape)) {
    status_ = internal_error(
        fmt::format("input \"{}\": bad shape {}", input_kind_name(kind), shape.to_string()));
    return kNoValue;
  }
  Value value;
  value.kind = ValueKind::kInput;
  value.dtype = DType::kI32;
  value.rows = rows;
  value.shape = shape;
  value.input = kind;
  value.group = group;
  value.label = input_kind_name(kind);
  return graph_.add_value(value);
}

ValueId Builder::weight(std::int32_t index, DType dtype, Shape shape, std::string_view label) {
  if (!status_.ok()) return kNoValue;
  Value value;
  value.kind = ValueKind::kWeight;
  value.dtype = dtype;
  value.shape = shape;
  value.weight = index;
  value.layer = layer_;
  value.label = label;
  const ValueId id = graph_.add_value(value);
  if (index < 0 || !positive(shape) || shape.inner() % dtype_info(dtype).block_elements != 0) {
    status_ = internal_error(fmt::format("weight \"{}\": bad index {} or shape {} {}",
                                         graph_.value_name(id), index, dtype_name(dtype),
                                         shape.to_string()));
    return kNoValue;
  }
  return id;
}

ValueId Builder::append(OpKind op, Attrs attrs, ValueList inputs, std::string_view label) {
  if (!status_.ok()) return kNoValue;
  if (label.empty()) label = op_name(op);
  const Result<OutputSpecs> specs = shape_rule(op)(graph_, attrs, inputs);
  if (!specs.ok()) {
    const std::string name =
        layer_ < 0 ? std::string(label) : fmt::format("blk.{}.{}", layer_, label);
    status_ = specs.status().with_context(fmt::format("{} ({})", name, op_name(op)));
    return kNoValue;
  }
  Node node;
  node.op = op;
  node.attrs = attrs;
  node.inputs = inputs;
  node.layer = layer_;
  for (int i = 0; i < specs->count; ++i) {
    const OutputSpec& spec = specs->spec[static_cast<std::size_t>(i)];
    Value value;
    value.kind = spec.kind;
    value.dtype = spec.dtype;
    value.rows = spec.rows;
    value.shape = spec.shape;
    value.layer = spec.kind == ValueKind::kKvToken ? spec.layer : layer_;
    value.label = label;
    node.outputs.push_back(graph_.add_value(value));
  }
  graph_.add_node(node);
  return node.outputs[0];
}

std::int32_t Builder::row_elements(ValueId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= graph_.values().size()) return 0;
  return static_cast<std::int32_t>(graph_.value(id).shape.inner());
}

ValueId Builder::embed(ValueId ids, ValueId table, float scale, std::string_view label) {
  return append(OpKind::kEmbed, EmbedAttrs{scale}, {ids, table}, label);
}

ValueId Builder::rms_norm(ValueId x, ValueId weight, float eps, std::string_view label) {
  return append(OpKind::kRmsNorm, NormAttrs{eps, row_elements(x)}, {x, weight}, label);
}

ValueId Builder::rms_norm_heads(ValueId x, ValueId weight, float eps, std::int32_t head_dim,
                                std::string_view label) {
  return append(OpKind::kRmsNorm, NormAttrs{eps, head_dim}, {x, weight}, label);
}

ValueId Builder::mat_mul(ValueId x, ValueId weight, std::string_view label) {
  return append(OpKind::kMatMul, NoAttrs{}, {x, weight}, label);
}

ValueId Builder::add_bias(ValueId x, ValueId bias, std::string_view label) {
  return append(OpKind::kAddBias, NoAttrs{}, {x, bias}, label);
}

ValueId Builder::add(ValueId x, ValueId y, std::string_view label) {
  return append(OpKind::kAdd, NoAttrs{}, {x, y}, label);
}

ValueId Builder::mul(ValueId x, ValueId y, std::string_view label) {
  return append(OpKind::kMul, NoAttrs{}, {x, y}, label);
}

ValueId Builder::scale(ValueId x, float factor, std::string_view label) {
  return append(OpKind::kScale, ScaleAttrs{factor}, {x}, label);
}

ValueId Builder::activation(ValueId x, Activation kind, std::string_view label) {
  return append(OpKind::kActivation, ActivationAttrs{kind}, {x}, label);
}

ValueId Builder::glu(ValueId gate, ValueId up, Activation kind, std::string_view label) {
  return append(OpKind::kGlu, ActivationAttrs{kind}, {gate, up}, label);
}

ValueId Builder::rope(ValueId x, ValueId positions, ValueId freq_factors, const RopeAttrs& attrs,
                      std::string_view label) {
  ValueList inputs{x, positions};
  if (freq_factors != kNoValue) inputs.push_back(freq_factors);
  return append(OpKind::kRope, attrs, inputs, label);
}

ValueId Builder::kv_store(ValueId k, ValueId v, ValueId positions, ValueId sequence,
                          const KvInputs& kv, std::int32_t layer) {
  return append(OpKind::kKvStore, KvStoreAttrs{layer}, {k, v, positions, sequence, kv.pages}, "kv");
}

ValueId Builder::attention(ValueId q, ValueId kv_token, ValueId sequence, const KvInputs& kv,
                           const AttentionAttrs& attrs, std::string_view label) {
  return append(OpKind::kAttention, attrs, {q, kv_token, kv.bounds, sequence, kv.pages}, label);
}

ValueId Builder::gather_rows(ValueId x, ValueId out_rows, std::string_view label) {
  return append(OpKind::kGatherRows, NoAttrs{}, {x, out_rows}, label);
}

Builder::Route Builder::moe_route(ValueId logits, const MoeRouteAttrs& attrs) {
  const ValueId ids = append(OpKind::kMoeRoute, attrs, {logits}, "moe_ids");
  if (ids == kNoValue) return {};
  const ValueId weights = graph_.nodes().back().outputs[1];
  graph_.mutable_value(weights).label = "moe_weights";
  return {ids, weights};
}

ValueId Builder::moe_mat_mul(ValueId x, ValueId ids, ValueId weight, const MoeMatMulAttrs& attrs,
                             std::string_view label) {
  return append(OpKind::kMoeMatMul, attrs, {x, ids, weight}, label);
}

ValueId Builder::moe_combine(ValueId y, ValueId weights, std::int32_t n_used,
                             std::string_view label) {
  return append(OpKind::kMoeCombine, MoeCombineAttrs{n_used}, {y, weights}, label);
}

ValueId Builder::scan(ValueId x, ValueId sequence, const ScanAttrs& attrs, std::string_view label) {
  return append(OpKind::kScan, attrs, {x, sequence}, label);
}

void Builder::output(ValueId id) {
  if (status_.ok()) graph_.add_output(id);
}

Result<Graph> Builder::finish() && {
  if (!status_.ok()) return std::move(status_);
  MINFER_RETURN_IF_ERROR(verify(graph_));
  return std::move(graph_);
}

}  // namespace minfer::ir
