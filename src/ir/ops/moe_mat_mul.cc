#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> moe_mat_mul_rule(const Graph& graph, const Attrs& attrs,
                                     const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<MoeMatMulAttrs>(attrs);
  in.require(a.n_used > 0, "n_used must be positive");
  const Value& x = in.rows("x", RowType::kF32OrQ8A);
  in.index_rows("ids", x, a.n_used);
  const Value& weight = in.experts("weight");
  const std::int64_t n_rows = a.shared_input ? 1 : a.n_used;
  in.require(x.shape[1] == n_rows * weight.shape[2],
             "the row of x must hold one row of the weight, or one a chosen expert");
  in.require(a.n_used <= weight.shape[0], "n_used must be at most n_expert");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(x, a.n_used * weight.shape[1]));
}

}  // namespace minfer::ir::ops
