#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> quantize_rows_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& x = in.rows("x");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(x, x.shape[1], DType::kQ8A));
}

}  // namespace minfer::ir::ops
