#include "passes/uses.h"

namespace minfer::passes {

Uses::Uses(const ir::Graph& graph)
    : first_(graph.values().size() + 1, 0), is_output_(graph.values().size(), false) {
  for (const ir::Node& node : graph.nodes()) {
    for (ir::ValueId id : node.inputs) ++first_[static_cast<std::size_t>(id) + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  readers_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const auto id = static_cast<ir::NodeId>(n);
    for (ir::ValueId input : graph.node(id).inputs) {
      readers_[next[static_cast<std::size_t>(input)]++] = id;
    }
  }
  for (ir::ValueId id : graph.outputs()) is_output_[static_cast<std::size_t>(id)] = true;
}

ir::NodeId Uses::sole_reader(ir::ValueId id) const {
  const auto all = readers(id);
  return all.size() == 1 && !is_output_[static_cast<std::size_t>(id)] ? all[0] : ir::kNoNode;
}

}  // namespace minfer::passes
