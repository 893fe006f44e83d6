// An RMSNorm over whole rows takes in the residual add before it and the quantisation after it,
// where at least one of the two is there. The sum stays a result of its own: the residual stream
// goes on from it. Gated by the backend alone.
#include "passes/fusion.h"

namespace minfer::passes {
namespace {

using ir::kNoNode;
using ir::NodeId;
using ir::OpKind;

bool is_whole_row(const ir::Graph& graph, const ir::Node& norm) {
  return std::get<ir::NormAttrs>(norm.attrs).group == graph.value(norm.inputs[0]).shape.inner();
}

void fuse_one(const ir::Graph& graph, Fusion& fusion, NodeId norm_id) {
  const ir::Node& norm = graph.node(norm_id);
  Members members(norm.backend);
  members.add(norm_id);
  const NodeId add = fusion.maker(norm.inputs[0], OpKind::kAdd, members);
  const NodeId reader = fusion.uses().sole_reader(norm.outputs[0]);
  ir::FusedNormAttrs attrs;
  attrs.eps = std::get<ir::NormAttrs>(norm.attrs).eps;
  attrs.residual = add != kNoNode;
  attrs.quantize = fusion.is(reader, OpKind::kQuantizeRows, members);
  if (!attrs.residual && !attrs.quantize) return;

  ir::Node fused;
  fused.op = OpKind::kFusedNorm;
  fused.attrs = attrs;
  fused.layer = norm.layer;
  fused.backend = norm.backend;
  if (attrs.residual) {
    fused.inputs = graph.node(add).inputs;
    fused.outputs = graph.node(add).outputs;
    members.add(add);
  } else {
    fused.inputs.push_back(norm.inputs[0]);
  }
  fused.inputs.push_back(norm.inputs[1]);
  fused.outputs.push_back(attrs.quantize ? graph.node(reader).outputs[0] : norm.outputs[0]);
  if (attrs.quantize) members.add(reader);
  // At the place of the add, because the sum may have readers before the norm.
  fusion.replace(members, attrs.residual ? add : norm_id, fused);
}

}  // namespace

Status fuse_norm(ir::Graph& graph, const PassContext& context) {
  Fusion fusion(graph, context);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const ir::Node& node = graph.node(id);
    if (node.op == OpKind::kRmsNorm && is_whole_row(graph, node) &&
        fusion.allowed(node.backend, OpKind::kFusedNorm)) {
      fuse_one(graph, fusion, id);
    }
  }
  fusion.apply();
  return ok_status();
}

}  // namespace minfer::passes
