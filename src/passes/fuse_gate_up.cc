// Both products of a gated feed-forward block, their biases and the activation become one node,
// which also quantises its rows where nothing else reads them. Under PassContext::fuse_ffn.
#include "passes/fusion.h"

namespace minfer::passes {
namespace {

using ir::kNoValue;
using ir::NodeId;
using ir::OpKind;

void fuse_one(const ir::Graph& graph, Fusion& fusion, NodeId glu_id) {
  const ir::Node& glu = graph.node(glu_id);
  Members members(glu.backend);
  members.add(glu_id);
  const auto gate = fusion.match_projection(glu.inputs[0], members);
  if (!gate) return;
  const auto up = fusion.match_projection(glu.inputs[1], members);
  if (!up || up->x != gate->x) return;

  ir::FusedGateUpAttrs attrs;
  attrs.activation = std::get<ir::ActivationAttrs>(glu.attrs).activation;
  attrs.gate_bias = gate->bias != kNoValue;
  attrs.up_bias = up->bias != kNoValue;
  ir::Node fused;
  fused.op = OpKind::kFusedGateUp;
  fused.inputs = {gate->x, gate->weight, up->weight};
  if (attrs.gate_bias) fused.inputs.push_back(gate->bias);
  if (attrs.up_bias) fused.inputs.push_back(up->bias);
  fused.outputs = glu.outputs;
  fused.layer = glu.layer;
  fused.backend = glu.backend;
  const NodeId reader = fusion.uses().sole_reader(glu.outputs[0]);
  if (fusion.is(reader, OpKind::kQuantizeRows, members)) {
    attrs.quantize = true;
    fused.outputs = graph.node(reader).outputs;
    members.add(reader);
  }
  fused.attrs = attrs;
  fusion.replace(members, glu_id, fused);
}

}  // namespace

Status fuse_gate_up(ir::Graph& graph, const PassContext& context) {
  if (!context.fuse_ffn) return ok_status();
  Fusion fusion(graph, context);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const ir::Node& node = graph.node(id);
    if (node.op == OpKind::kGlu && fusion.allowed(node.backend, OpKind::kFusedGateUp)) {
      fuse_one(graph, fusion, id);
    }
  }
  fusion.apply();
  return ok_status();
}

}  // namespace minfer::passes
