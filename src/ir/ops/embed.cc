#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> embed_rule(const Graph& graph, const Attrs&, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const Value& ids = in.index("ids");
  const Value& table = in.matrix("table", 0);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(rows_of(ids, table.shape[1]));
}

}  // namespace minfer::ir::ops
