#include "ir/op.h"
#include "passes/pass.h"

namespace minfer::passes {

Status remove_dead_nodes(ir::Graph& graph, const PassContext&) {
  std::vector<bool> read(graph.values().size(), false);
  for (ir::ValueId id : graph.outputs()) read[static_cast<std::size_t>(id)] = true;
  std::vector<bool> live(graph.nodes().size(), false);
  std::size_t n_live = 0;
  for (std::size_t i = live.size(); i-- > 0;) {
    const ir::Node& node = graph.node(static_cast<ir::NodeId>(i));
    bool keep = ir::has_side_effect(node.op);
    for (ir::ValueId id : node.outputs) keep = keep || read[static_cast<std::size_t>(id)];
    if (!keep) continue;
    live[i] = true;
    ++n_live;
    for (ir::ValueId id : node.inputs) read[static_cast<std::size_t>(id)] = true;
  }
  if (n_live == live.size()) return ok_status();
  std::vector<ir::Node> nodes;
  nodes.reserve(n_live);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) nodes.push_back(graph.node(static_cast<ir::NodeId>(i)));
  }
  graph.replace_nodes(std::move(nodes));
  return ok_status();
}

}  // namespace minfer::passes
