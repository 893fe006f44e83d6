#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> activation_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& x = in.rows("x");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(x));
}

}  // namespace minfer::ir::ops
