#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> add_bias_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& x = in.rows("x");
  in.vector("bias", x.shape[1]);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(x));
}

}  // namespace minfer::ir::ops
