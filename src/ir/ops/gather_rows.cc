#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> gather_rows_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& x = in.rows("x");
  const Value& out_rows = in.index("out_rows");
  in.require(x.rows == RowDomain::kTokens, "x must have a row a token");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(out_rows, x.shape[1]));
}

}  // namespace minfer::ir::ops
