#include "ir/ops/common.h"

namespace minfer::ir::ops {

namespace {

/// Elements of a row of K that the producer of `token` stores.
std::int64_t stored_row(const Graph& graph, const Value& token) {
  if (token.producer < 0 || static_cast<std::size_t>(token.producer) >= graph.nodes().size()) {
    return 0;
  }
  const Node& writer = graph.node(token.producer);
  if (writer.op == OpKind::kKvStore) return graph.value(writer.inputs[0]).shape[1];
  if (writer.op != OpKind::kFusedQkv) return 0;
  const auto& a = attrs_as<FusedQkvAttrs>(writer.attrs);
  return std::int64_t{a.n_head_kv} * a.rope.head_dim;
}

}  // namespace

Result<OutputSpecs> attention_rule(const Graph& graph, const Attrs& attrs,
                                   const ValueList& inputs) {
  InputReader in(graph, inputs);
  const auto& a = attrs_as<AttentionAttrs>(attrs);
  const Value& q = in.rows("q");
  in.require(a.n_head > 0 && a.n_head_kv > 0 && a.head_dim > 0 && a.n_head % a.n_head_kv == 0,
             "n_head must be a multiple of n_head_kv");
  in.require(q.shape[1] == std::int64_t{a.n_head} * a.head_dim,
             "the row must be n_head * head_dim elements");
  const Value& token = in.kv_token("kv", a.layer);
  in.index_rows("bounds", q, 2);
  in.index("sequence", &q);
  in.page_tables("pages");
  in.require(stored_row(graph, token) == std::int64_t{a.n_head_kv} * a.head_dim,
             "the KV of the layer holds rows of another size");
  MINFER_RETURN_IF_ERROR(in.finish());
  return one(same_as(q));
}

}  // namespace minfer::ir::ops
