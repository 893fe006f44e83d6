#include "ir/graph.h"

#include <fmt/format.h>

namespace minfer::ir {

std::string_view input_kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::kIds:
      return "ids";
    case InputKind::kPositions:
      return "positions";
    case InputKind::kSequence:
      return "sequence";
    case InputKind::kKvPages:
      return "kv_pages";
    case InputKind::kKvBounds:
      return "kv_bounds";
    case InputKind::kOutRows:
      return "out_rows";
  }
  return "unknown";
}

ValueId Graph::add_value(const Value& value) {
  values_.push_back(value);
  return static_cast<ValueId>(values_.size() - 1);
}

NodeId Graph::add_node(const Node& node) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(node);
  for (ValueId output : node.outputs) mutable_value(output).producer = id;
  return id;
}

void Graph::replace_nodes(std::vector<Node> nodes) {
  nodes_ = std::move(nodes);
  for (Value& value : values_) value.producer = kNoNode;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    for (ValueId output : nodes_[id].outputs) {
      mutable_value(output).producer = static_cast<NodeId>(id);
    }
  }
}

void Graph::reserve(std::size_t n_nodes) {
  nodes_.reserve(n_nodes);
  // A node of a transformer reads about one weight and makes one value.
  values_.reserve(2 * n_nodes);
}

std::string Graph::value_name(ValueId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= values_.size()) return fmt::format("value {}", id);
  const Value& v = value(id);
  if (v.kind == ValueKind::kInput &&
      (v.input == InputKind::kKvPages || v.input == InputKind::kKvBounds)) {
    return fmt::format("{}.{}", v.label, v.group);
  }
  return v.layer < 0 ? std::string(v.label) : fmt::format("blk.{}.{}", v.layer, v.label);
}

std::string Graph::node_name(NodeId id) const { return node_name(node(id)); }

std::string Graph::node_name(const Node& n) const {
  if (n.outputs.size() == 0) return std::string(op_name(n.op));
  return fmt::format("{} ({})", value_name(n.outputs[0]), op_name(n.op));
}

}  // namespace minfer::ir
