#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> rope_rule(const Graph& graph, const Attrs& attrs, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<RopeAttrs>(attrs);
  const Value& x = in.rows("x");
  check_rope(in, a);
  in.require(x.shape[1] == std::int64_t{a.n_head} * a.head_dim,
             "the row must be n_head * head_dim elements");
  in.index("positions", &x);
  if (in.remaining() > 0) in.vector("freq_factors", a.n_rot / 2);
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(x));
}

}  // namespace minfer::ir::ops
