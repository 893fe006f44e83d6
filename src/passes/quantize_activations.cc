#include "passes/pass.h"

namespace minfer::passes {
namespace {

using ir::kNoValue;
using ir::Node;
using ir::OpKind;
using ir::ValueId;

/// The weight of a product, or kNoValue for other operations.
ValueId product_weight(const Node& node) {
  if (node.op == OpKind::kMatMul) return node.inputs[1];
  if (node.op == OpKind::kMoeMatMul) return node.inputs[2];
  return kNoValue;
}

bool wants_quantized(const ir::Graph& graph, const PassContext& context, const Node& node) {
  const ValueId weight = product_weight(node);
  const auto backend = static_cast<std::size_t>(node.backend);
  return weight != kNoValue && backend < context.backends.size() &&
         graph.value(node.inputs[0]).dtype == DType::kF32 &&
         context.backends[backend]->wants_quantized_rows(graph.value(weight).dtype);
}

/// The node before `reader` that quantises its first input, on the reader's backend.
Node quantize_node(ir::Graph& graph, const Node& reader) {
  ir::Value value = graph.value(reader.inputs[0]);
  value.kind = ir::ValueKind::kTransient;
  value.dtype = DType::kQ8A;
  value.producer = ir::kNoNode;
  Node node;
  node.op = OpKind::kQuantizeRows;
  node.inputs = {reader.inputs[0]};
  node.outputs = {graph.add_value(value)};
  node.layer = reader.layer;
  node.backend = reader.backend;
  return node;
}

}  // namespace

Status quantize_activations(ir::Graph& graph, const PassContext& context) {
  const std::size_t n_backends = context.backends.size();
  // By value and backend: the quantised twin, once it is made.
  std::vector<ValueId> twins(graph.values().size() * n_backends, kNoValue);
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes().size() + graph.nodes().size() / 2);
  for (const Node& original : graph.nodes()) {
    Node node = original;
    if (wants_quantized(graph, context, node)) {
      ValueId& twin = twins[static_cast<std::size_t>(node.inputs[0]) * n_backends +
                            static_cast<std::size_t>(node.backend)];
      if (twin == kNoValue) {
        nodes.push_back(quantize_node(graph, node));
        twin = nodes.back().outputs[0];
      }
      node.inputs[0] = twin;
    }
    nodes.push_back(node);
  }
  graph.replace_nodes(std::move(nodes));
  return ok_status();
}

}  // namespace minfer::passes
