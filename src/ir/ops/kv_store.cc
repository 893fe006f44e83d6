#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> kv_store_rule(const Graph& graph, const Attrs& attrs, const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<KvStoreAttrs>(attrs);
  const Value& k = in.rows("k");
  in.rows_like("v", k, k.shape[1]);
  in.index("positions", &k);
  in.index("sequence", &k);
  in.page_tables("pages");
  in.require(a.layer >= 0, "the layer must not be negative");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(kv_token_of(a.layer));
}

}  // namespace minfer::ir::ops
