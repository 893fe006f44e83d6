#include "passes/fusion.h"

namespace minfer::passes {

using ir::kNoNode;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;

bool Fusion::allowed(std::int8_t backend, OpKind fused) const {
  const auto index = static_cast<std::size_t>(backend);
  return index < context_.backends.size() && context_.backends[index]->can_fuse(fused);
}

bool Fusion::is(NodeId id, OpKind op, const Members& members) const {
  if (id == kNoNode || state_[static_cast<std::size_t>(id)] != kKept) return false;
  const ir::Node& node = graph_.node(id);
  return node.op == op && node.backend == members.backend();
}

NodeId Fusion::maker(ValueId value, OpKind op, const Members& members) const {
  const NodeId id = graph_.value(value).producer;
  return is(id, op, members) ? id : kNoNode;
}

std::optional<Projection> Fusion::match_projection(ValueId value, Members& members) const {
  if (uses_.sole_reader(value) == kNoNode) return std::nullopt;
  Projection projection;
  if (const NodeId add = maker(value, OpKind::kAddBias, members); add != kNoNode) {
    projection.bias = graph_.node(add).inputs[1];
    value = graph_.node(add).inputs[0];
    if (uses_.sole_reader(value) == kNoNode) return std::nullopt;
    members.add(add);
  }
  const NodeId product = maker(value, OpKind::kMatMul, members);
  if (product == kNoNode) return std::nullopt;
  members.add(product);
  projection.x = graph_.node(product).inputs[0];
  projection.weight = graph_.node(product).inputs[1];
  return projection;
}

bool Fusion::replace(const Members& members, NodeId at, const ir::Node& fused) {
  const auto backend = static_cast<std::size_t>(fused.backend);
  if (!context_.backends[backend]->can_run(graph_, fused)) return false;
  for (NodeId id : members.ids()) state_[static_cast<std::size_t>(id)] = kRemoved;
  state_[static_cast<std::size_t>(at)] = kReplaced;
  graph_.mutable_node(at) = fused;
  changed_ = true;
  return true;
}

void Fusion::apply() {
  if (!changed_) return;
  std::vector<ir::Node> nodes;
  nodes.reserve(state_.size());
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] != kRemoved) nodes.push_back(graph_.node(static_cast<NodeId>(i)));
  }
  graph_.replace_nodes(std::move(nodes));
}

}  // namespace minfer::passes
