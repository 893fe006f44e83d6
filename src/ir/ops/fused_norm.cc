#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> fused_norm_rule(const Graph& graph, const Attrs& attrs,
                                    const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<FusedNormAttrs>(attrs);
  const Value& x = in.rows("x");
  if (a.residual) in.rows_like("y", x, x.shape[1]);
  in.require(a.eps >= 0.0F, "eps must not be negative");
  in.vector("weight", x.shape[1]);
  MINFER_RETURN_IF_ERROR(in.finish());
  OutputSpecs specs;
  if (a.residual) specs.push_back(same_as(x));
  specs.push_back(rows_of(x, x.shape[1], a.quantize ? DType::kQ8A : DType::kF32));
  return specs;
}

}  // namespace minfer::ir::ops
