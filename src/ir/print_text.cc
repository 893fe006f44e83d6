#include <fmt/format.h>

#include <iterator>

#include "ir/attr_fields.h"
#include "ir/print_common.h"

namespace minfer::ir {
namespace {

void append_node(std::string& out, const Graph& graph, const PrintContext& context, NodeId id) {
  const Node& node = graph.node(id);
  auto sink = std::back_inserter(out);
  fmt::format_to(sink, "{:>4} {} ", id, backend_name(context, node));
  const char* separator = "";
  for (ValueId output : node.outputs) {
    fmt::format_to(sink, "{}%{} {} {}", separator, output, graph.value_name(output),
                   type_text(graph.value(output)));
    separator = ", ";
  }
  fmt::format_to(sink, " = {}(", op_name(node.op));
  separator = "";
  for (ValueId input : node.inputs) {
    const Value& value = graph.value(input);
    fmt::format_to(sink, "{}%{} {}", separator, input, graph.value_name(input));
    if (value.kind == ValueKind::kWeight) fmt::format_to(sink, " {}", type_text(value));
    separator = ", ";
  }
  out += ')';
  for_each_field(node.attrs, [&](std::string_view name, const auto& value) {
    fmt::format_to(sink, " {}={}", name, value);
  });
  out += '\n';
}

}  // namespace

std::string to_text(const Graph& graph, const PrintContext& context) {
  std::string out;
  auto sink = std::back_inserter(out);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = graph.value(id);
    if (value.kind != ValueKind::kInput) continue;
    fmt::format_to(sink, "input %{} {} {}\n", id, graph.value_name(id), type_text(value));
  }
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    append_node(out, graph, context, static_cast<NodeId>(i));
  }
  for (ValueId id : graph.outputs()) {
    fmt::format_to(sink, "output %{} {} {}\n", id, graph.value_name(id),
                   type_text(graph.value(id)));
  }
  return out;
}

}  // namespace minfer::ir
