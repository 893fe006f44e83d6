// Builder: how models write a graph. One method an operation; each checks its inputs, applies the
// shape rule of ir/ops/<op>.cc and appends one node.
//
// Invariants: building reads nothing but its arguments. The first error sticks: later calls do
// nothing and return kNoValue, finish() reports it with the node's name.
// Thread-safety: one thread.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace minfer::ir {

/// The inputs of one layer group's attention.
struct KvInputs {
  ValueId pages = kNoValue;   // I32 [n_tokens, n_pages]
  ValueId bounds = kNoValue;  // I32 [n_tokens, 2]
};

class Builder {
 public:
  Builder();

  /// Names what the next nodes belong to: printers and traces show it. -1: no layer.
  void set_layer(std::int32_t layer) { layer_ = layer; }

  ValueId input(InputKind kind, Shape shape, RowDomain rows, std::int32_t group = 0);
  /// A tensor of the model: `index` in its weight table, `shape` outermost first.
  ValueId weight(std::int32_t index, DType dtype, Shape shape, std::string_view label);

  // `label` is static text; empty means the operation's name.
  ValueId embed(ValueId ids, ValueId table, float scale, std::string_view label);
  ValueId rms_norm(ValueId x, ValueId weight, float eps, std::string_view label);
  /// Normalises every head of `head_dim` elements by itself (QK norm).
  ValueId rms_norm_heads(ValueId x, ValueId weight, float eps, std::int32_t head_dim,
                         std::string_view label);
  ValueId mat_mul(ValueId x, ValueId weight, std::string_view label);
  ValueId add_bias(ValueId x, ValueId bias, std::string_view label);
  ValueId add(ValueId x, ValueId y, std::string_view label);
  ValueId mul(ValueId x, ValueId y, std::string_view label);
  ValueId scale(ValueId x, float factor, std::string_view label);
  ValueId activation(ValueId x, Activation kind, std::string_view label);
  ValueId glu(ValueId gate, ValueId up, Activation kind, std::string_view label);
  /// `freq_factors`: kNoValue, or divisors of the angles, F32 [n_rot / 2].
  ValueId rope(ValueId x, ValueId positions, ValueId freq_factors, const RopeAttrs& attrs,
               std::string_view label);
  ValueId kv_store(ValueId k, ValueId v, ValueId positions, ValueId sequence, const KvInputs& kv,
                   std::int32_t layer);
  ValueId attention(ValueId q, ValueId kv_token, ValueId sequence, const KvInputs& kv,
                    const AttentionAttrs& attrs, std::string_view label);
  ValueId gather_rows(ValueId x, ValueId out_rows, std::string_view label);
  struct Route {
    ValueId ids = kNoValue;
    ValueId weights = kNoValue;
  };
  Route moe_route(ValueId logits, const MoeRouteAttrs& attrs);
  ValueId moe_mat_mul(ValueId x, ValueId ids, ValueId weight, const MoeMatMulAttrs& attrs,
                      std::string_view label);
  ValueId moe_combine(ValueId y, ValueId weights, std::int32_t n_used, std::string_view label);
  ValueId scan(ValueId x, ValueId sequence, const ScanAttrs& attrs, std::string_view label);

  void output(ValueId id);

  /// The finished graph, verified; or the first error.
  Result<Graph> finish() &&;

 private:
  ValueId append(OpKind op, Attrs attrs, ValueList inputs, std::string_view label);
  [[nodiscard]] std::int32_t row_elements(ValueId id) const;

  Graph graph_;
  Status status_;
  std::int32_t layer_ = -1;
};

}  // namespace minfer::ir
