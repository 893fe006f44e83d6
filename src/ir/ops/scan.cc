#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> scan_rule(const Graph& graph, const Attrs& attrs, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<ScanAttrs>(attrs);
  const Value& x = in.rows("x");
  in.index("sequence", &x);
  in.require(a.slot >= 0, "the slot must not be negative");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(x));
}

}  // namespace minfer::ir::ops
