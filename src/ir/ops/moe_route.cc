#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> moe_route_rule(const Graph& graph, const Attrs& attrs,
                                   const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<MoeRouteAttrs>(attrs);
  in.require(a.n_used > 0 && a.n_used <= a.n_expert, "n_used must be in 1 to n_expert");
  const Value& logits = in.rows("logits");
  in.require(logits.shape[1] == a.n_expert, "the logits must be n_expert elements");
  MINFER_RETURN_IF_ERROR(in.finish());
  OutputSpecs specs = one(rows_of(logits, a.n_used, DType::kI32));
  specs.push_back(rows_of(logits, a.n_used));
  return specs;
}

}  // namespace minfer::ir::ops
