#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> mat_mul_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& x = in.rows("x", RowType::kF32OrQ8A);
  const Value& weight = in.matrix("weight", x.shape[1]);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(x, weight.shape[0]));
}

}  // namespace minfer::ir::ops
