#include "ir/ops/common.h"

namespace minfer::ir::ops {

Result<OutputSpecs> fused_qkv_rule(const Graph& graph, const Attrs& attrs,
                                   const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<FusedQkvAttrs>(attrs);
  const Value& x = in.rows("x", RowType::kF32OrQ8A);
  check_rope(in, a.rope);
  const std::int64_t n_q = std::int64_t{a.rope.n_head} * a.rope.head_dim;
  const std::int64_t n_kv = std::int64_t{a.n_head_kv} * a.rope.head_dim;
  const Value& wq = in.matrix("Wq", x.shape[1]);
  const Value& wk = in.matrix("Wk", x.shape[1]);
  const Value& wv = in.matrix("Wv", x.shape[1]);
  in.require(wq.shape[0] == n_q, "Wq must yield n_head * head_dim elements");
  in.require(n_kv > 0 && wk.shape[0] == n_kv && wv.shape[0] == n_kv,
             "Wk and Wv must yield n_head_kv * head_dim elements");
  if (a.q_bias) in.vector("bq", n_q);
  if (a.k_bias) in.vector("bk", n_kv);
  if (a.v_bias) in.vector("bv", n_kv);
  if (a.q_norm) in.vector("q_norm", a.rope.head_dim);
  if (a.k_norm) in.vector("k_norm", a.rope.head_dim);
  in.index("positions", &x);
  if (a.freq_factors) in.vector("freq_factors", a.rope.n_rot / 2);
  in.index("sequence", &x);
  in.page_tables("pages");
  in.require(a.layer >= 0, "the layer must not be negative");
  MINFER_RETURN_IF_ERROR(in.finish());
  OutputSpecs specs = one(rows_of(x, n_q));
  specs.push_back(kv_token_of(a.layer));
  return specs;
}

}  // namespace minfer::ir::ops
