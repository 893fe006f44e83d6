#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> moe_combine_rule(const Graph& graph, const Attrs& attrs,
                                     const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<MoeCombineAttrs>(attrs);
  in.require(a.n_used > 0, "n_used must be positive");
  const Value& y = in.rows("y");
  in.require(y.shape[1] % std::max(a.n_used, 1) == 0, "the row of y must be n_used rows");
  in.rows_like("weights", y, a.n_used);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(y, y.shape[1] / a.n_used));
}

}  // namespace minfer::ir::ops
