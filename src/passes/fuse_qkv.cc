// The three projections of an attention block with bias, QK norm, RoPE and the KV store become one
// node at the place of the KV store: nothing that reads Q may stand before it. Under
// PassContext::fuse_qkv.
#include "passes/fusion.h"

namespace minfer::passes {
namespace {

using ir::kNoNode;
using ir::kNoValue;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;

/// A projection, perhaps normalised a head at a time, with RoPE.
struct RotatedHeads {
  Projection projection;
  ValueId norm = kNoValue;
  float norm_eps = 0.0F;
  ir::RopeAttrs rope;
  ValueId positions = kNoValue;
  ValueId freq_factors = kNoValue;
};

class QkvMatch {
 public:
  QkvMatch(const ir::Graph& graph, Fusion& fusion, NodeId store)
      : graph_(graph), fusion_(fusion), store_id_(store), members_(graph.node(store).backend) {}

  void fuse() {
    members_.add(store_id_);
    const ir::Node& store = graph_.node(store_id_);
    const ValueId q = find_q(store.outputs[0]);
    if (q == kNoValue || fusion_.uses().sole_reader(store.inputs[0]) == kNoNode) return;
    const auto q_heads = match_heads(q);
    const auto k_heads = match_heads(store.inputs[0]);
    const auto v = fusion_.match_projection(store.inputs[1], members_);
    if (!q_heads || !k_heads || !v || !agree(*q_heads, *k_heads, *v, store)) return;
    fusion_.replace(members_, store_id_, make_node(*q_heads, *k_heads, *v, store, q));
  }

 private:
  /// The Q of the attention that reads the KV token, if all readers of it come after the store.
  [[nodiscard]] ValueId find_q(ValueId token) const {
    for (NodeId reader : fusion_.uses().readers(token)) {
      if (graph_.node(reader).op != OpKind::kAttention) continue;
      const ValueId q = graph_.node(reader).inputs[0];
      for (NodeId other : fusion_.uses().readers(q)) {
        if (other < store_id_) return kNoValue;
      }
      return q;
    }
    return kNoValue;
  }

  std::optional<RotatedHeads> match_heads(ValueId value) {
    const NodeId rope_id = fusion_.maker(value, OpKind::kRope, members_);
    if (rope_id == kNoNode) return std::nullopt;
    members_.add(rope_id);
    const ir::Node& rope = graph_.node(rope_id);
    RotatedHeads heads;
    heads.rope = std::get<ir::RopeAttrs>(rope.attrs);
    heads.positions = rope.inputs[1];
    if (rope.inputs.size() > 2) heads.freq_factors = rope.inputs[2];
    ValueId source = rope.inputs[0];
    if (const NodeId norm_id = fusion_.maker(source, OpKind::kRmsNorm, members_);
        norm_id != kNoNode) {
      const ir::Node& norm = graph_.node(norm_id);
      const auto& attrs = std::get<ir::NormAttrs>(norm.attrs);
      const bool read_once = fusion_.uses().sole_reader(source) != kNoNode;
      if (attrs.group != heads.rope.head_dim || !read_once) return std::nullopt;
      members_.add(norm_id);
      heads.norm = norm.inputs[1];
      heads.norm_eps = attrs.eps;
      source = norm.inputs[0];
    }
    const auto projection = fusion_.match_projection(source, members_);
    if (!projection) return std::nullopt;
    heads.projection = *projection;
    return heads;
  }

  /// True if one set of attributes describes Q, K and V.
  static bool agree(const RotatedHeads& q, const RotatedHeads& k, const Projection& v,
                    const ir::Node& store) {
    ir::RopeAttrs k_rope = k.rope;
    k_rope.n_head = q.rope.n_head;
    const bool both_normed = q.norm != kNoValue && k.norm != kNoValue;
    return q.projection.x == k.projection.x && q.projection.x == v.x && q.rope == k_rope &&
           q.positions == k.positions && q.positions == store.inputs[2] &&
           q.freq_factors == k.freq_factors && (!both_normed || q.norm_eps == k.norm_eps);
  }

  static ir::Node make_node(const RotatedHeads& q, const RotatedHeads& k, const Projection& v,
                            const ir::Node& store, ValueId q_value) {
    ir::FusedQkvAttrs attrs;
    attrs.rope = q.rope;
    attrs.n_head_kv = k.rope.n_head;
    attrs.layer = std::get<ir::KvStoreAttrs>(store.attrs).layer;
    attrs.norm_eps = q.norm != kNoValue ? q.norm_eps : k.norm_eps;
    attrs.q_bias = q.projection.bias != kNoValue;
    attrs.k_bias = k.projection.bias != kNoValue;
    attrs.v_bias = v.bias != kNoValue;
    attrs.q_norm = q.norm != kNoValue;
    attrs.k_norm = k.norm != kNoValue;
    attrs.freq_factors = q.freq_factors != kNoValue;
    ir::Node fused;
    fused.op = OpKind::kFusedQkv;
    fused.attrs = attrs;
    fused.layer = store.layer;
    fused.backend = store.backend;
    fused.inputs = {q.projection.x, q.projection.weight, k.projection.weight, v.weight};
    for (ValueId optional : {q.projection.bias, k.projection.bias, v.bias, q.norm, k.norm}) {
      if (optional != kNoValue) fused.inputs.push_back(optional);
    }
    fused.inputs.push_back(q.positions);
    if (attrs.freq_factors) fused.inputs.push_back(q.freq_factors);
    fused.inputs.push_back(store.inputs[3]);
    fused.inputs.push_back(store.inputs[4]);
    fused.outputs = {q_value, store.outputs[0]};
    return fused;
  }

  const ir::Graph& graph_;
  Fusion& fusion_;
  NodeId store_id_;
  Members members_;
};

}  // namespace

Status fuse_qkv(ir::Graph& graph, const PassContext& context) {
  if (!context.fuse_qkv) return ok_status();
  Fusion fusion(graph, context);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const ir::Node& node = graph.node(id);
    if (node.op == OpKind::kKvStore && fusion.allowed(node.backend, OpKind::kFusedQkv)) {
      QkvMatch(graph, fusion, id).fuse();
    }
  }
  fusion.apply();
  return ok_status();
}

}  // namespace minfer::passes
