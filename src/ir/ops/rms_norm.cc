#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> rms_norm_rule(const Graph& graph, const Attrs& attrs, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<NormAttrs>(attrs);
  const Value& x = in.rows("x");
  in.require(a.group > 0 && x.shape[1] % std::max(a.group, 1) == 0,
             "the group must divide the row");
  in.require(a.eps >= 0.0F, "eps must not be negative");
  in.vector("weight", a.group);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(x));
}

}  // namespace minfer::ir::ops
