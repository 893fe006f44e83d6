#include <fmt/format.h>

#include "ir/graph.h"

namespace minfer::ir {
namespace {

bool same_value(const Value& a, const Value& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.rows == b.rows && a.shape == b.shape &&
         a.weight == b.weight && a.input == b.input && a.group == b.group && a.layer == b.layer &&
         a.label == b.label;
}

/// The word for what differs between two lists of values, or empty.
std::string_view list_difference(const Graph& a, const Graph& b, const ValueList& in_a,
                                 const ValueList& in_b) {
  if (in_a != in_b) return "list";
  for (ValueId id : in_a) {
    if (!same_value(a.value(id), b.value(id))) return "shape, type or name";
  }
  return {};
}

std::string difference(const Graph& a, const Graph& b, const Node& x, const Node& y) {
  if (x.op != y.op) return fmt::format("{} against {}", op_name(x.op), op_name(y.op));
  if (x.attrs != y.attrs) return "the attributes differ";
  if (x.layer != y.layer) return fmt::format("layer {} against {}", x.layer, y.layer);
  if (x.backend != y.backend) return fmt::format("backend {} against {}", x.backend, y.backend);
  if (auto what = list_difference(a, b, x.inputs, y.inputs); !what.empty()) {
    return fmt::format("the {} of the inputs differs", what);
  }
  if (auto what = list_difference(a, b, x.outputs, y.outputs); !what.empty()) {
    return fmt::format("the {} of the outputs differs", what);
  }
  return {};
}

}  // namespace

Status compare_graphs(const Graph& a, const Graph& b) {
  const std::size_t n = std::min(a.nodes().size(), b.nodes().size());
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = static_cast<NodeId>(i);
    const std::string what = difference(a, b, a.node(id), b.node(id));
    if (!what.empty()) {
      return internal_error(
          fmt::format("the graphs differ at node {} {}: {}", id, a.node_name(id), what));
    }
  }
  if (a.nodes().size() != b.nodes().size()) {
    const Graph& longer = a.nodes().size() > b.nodes().size() ? a : b;
    return internal_error(fmt::format("the graphs differ at node {} {}: it is in one graph only", n,
                                      longer.node_name(static_cast<NodeId>(n))));
  }
  // What no node reads (an input that is left over) stands in the table of values alone.
  if (!std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end(),
                  same_value)) {
    return internal_error("the graphs differ in values that no node reads");
  }
  if (!std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end())) {
    return internal_error("the graphs differ in their outputs");
  }
  return ok_status();
}

}  // namespace minfer::ir
