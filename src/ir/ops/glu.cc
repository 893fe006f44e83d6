#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> glu_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& gate = in.rows("gate");
  in.rows_like("up", gate, gate.shape[1]);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(gate));
}

}  // namespace minfer::ir::ops
