#include <fmt/format.h>

#include "passes/pass.h"

namespace minfer::passes {
namespace {

bool offloaded(const ir::Node& node, const PassContext& context) {
  if (context.n_layers <= 0) return true;
  if (node.layer < 0) return context.gpu_layers > 0;
  return node.layer >= context.n_layers - context.gpu_layers;
}

}  // namespace

Status assign_backends(ir::Graph& graph, const PassContext& context) {
  const std::size_t n_backends = context.backends.size();
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    ir::Node& node = graph.mutable_node(static_cast<ir::NodeId>(i));
    std::size_t backend = n_backends > 1 && !offloaded(node, context) ? 1 : 0;
    while (backend < n_backends && !context.backends[backend]->can_run(graph, node)) ++backend;
    if (backend == n_backends) {
      return unsupported(fmt::format("no backend can run {}", graph.node_name(node)));
    }
    node.backend = static_cast<std::int8_t>(backend);
  }
  return ok_status();
}

}  // namespace minfer::passes
