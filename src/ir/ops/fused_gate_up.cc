#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> fused_gate_up_rule(const Graph& graph, const Attrs& attrs,
                                       const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<FusedGateUpAttrs>(attrs);
  const Value& x = in.rows("x", RowType::kF32OrQ8A);
  const Value& gate = in.matrix("Wgate", x.shape[1]);
  const Value& up = in.matrix("Wup", x.shape[1]);
  in.require(gate.shape[0] == up.shape[0], "Wgate and Wup must yield equal rows");
  if (a.gate_bias) in.vector("bgate", gate.shape[0]);
  if (a.up_bias) in.vector("bup", up.shape[0]);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(x, gate.shape[0], a.quantize ? DType::kQ8A : DType::kF32));
}

}  // namespace minfer::ir::ops
