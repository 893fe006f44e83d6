#include <fmt/format.h>

#include <array>
#include <iterator>

#include "ir/attr_fields.h"
#include "ir/print_common.h"

namespace minfer::ir {
namespace {

// Light fills, so that black text reads on all of them; by backend, again from the start past 6.
constexpr std::array<std::string_view, 6> kFills = {"#cfe2f3", "#d9ead3", "#fff2cc",
                                                    "#f4cccc", "#d9d2e9", "#eeeeee"};

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// A box: name, operation with attributes, results, weights.
void append_node(std::string& out, const Graph& graph, const PrintContext& context, NodeId id,
                 std::string_view indent) {
  const Node& node = graph.node(id);
  std::string label = escaped(graph.node_name(node));
  for (ValueId output : node.outputs) label += "\\n" + escaped(type_text(graph.value(output)));
  for (ValueId input : node.inputs) {
    if (graph.value(input).kind != ValueKind::kWeight) continue;
    label += "\\n" + escaped(graph.value_name(input)) + " " + type_text(graph.value(input));
  }
  std::string attributes;
  for_each_field(node.attrs, [&](std::string_view name, const auto& value) {
    attributes += fmt::format("{}{}={}", attributes.empty() ? "" : " ", name, value);
  });
  fmt::format_to(std::back_inserter(out),
                 "{}n{} [label=\"{}\", tooltip=\"{}\", fillcolor=\"{}\"];\n", indent, id, label,
                 escaped(backend_name(context, node) + " " + attributes),
                 kFills[static_cast<std::size_t>(node.backend) % kFills.size()]);
}

/// The nodes, those of a layer in a box of their own.
void append_nodes(std::string& out, const Graph& graph, const PrintContext& context) {
  std::int32_t open_layer = -1;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const std::int32_t layer = graph.node(id).layer;
    if (layer != open_layer) {
      if (open_layer >= 0) out += "  }\n";
      if (layer >= 0) {
        // A layer that comes back later (none does today) continues the same cluster.
        fmt::format_to(std::back_inserter(out),
                       "  subgraph cluster_{} {{\n    label=\"layer {}\";\n", layer, layer);
      }
      open_layer = layer;
    }
    append_node(out, graph, context, id, layer >= 0 ? "    " : "  ");
  }
  if (open_layer >= 0) out += "  }\n";
}

void append_edges(std::string& out, const Graph& graph) {
  auto sink = std::back_inserter(out);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId input : graph.node(static_cast<NodeId>(i)).inputs) {
      const Value& value = graph.value(input);
      if (value.kind == ValueKind::kWeight) continue;
      const bool is_input = value.kind == ValueKind::kInput;
      fmt::format_to(sink, "  {}{} -> n{}{};\n", is_input ? "v" : "n",
                     is_input ? input : value.producer, i,
                     value.kind == ValueKind::kKvToken ? " [style=dashed]" : "");
    }
  }
  for (ValueId id : graph.outputs()) {
    fmt::format_to(sink, "  out{} [label=\"output\", shape=ellipse];\n  n{} -> out{};\n", id,
                   graph.value(id).producer, id);
  }
}

}  // namespace

std::string to_dot(const Graph& graph, const PrintContext& context) {
  std::string out = "digraph minfer {\n  node [shape=box, style=filled, fontsize=10];\n";
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = graph.value(id);
    if (value.kind != ValueKind::kInput) continue;
    fmt::format_to(std::back_inserter(out),
                   "  v{} [label=\"{}\\n{}\", shape=ellipse, fillcolor=\"#ffffff\"];\n", id,
                   escaped(graph.value_name(id)), type_text(value));
  }
  append_nodes(out, graph, context);
  append_edges(out, graph);
  return out + "}\n";
}

}  // namespace minfer::ir
