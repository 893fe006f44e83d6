#include "plan/splits.h"

#include <algorithm>

#include "ir/op.h"

namespace minfer::plan {

std::vector<std::uint8_t> live_nodes(const ir::Graph& graph) {
  std::vector<std::uint8_t> read(graph.values().size(), 0);
  for (ir::ValueId id : graph.outputs()) read[static_cast<std::size_t>(id)] = 1;
  std::vector<std::uint8_t> live(graph.nodes().size(), 0);
  for (std::size_t i = live.size(); i-- > 0;) {
    const ir::Node& node = graph.nodes()[i];
    const bool wanted = ir::has_side_effect(node.op) ||
                        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
                          return read[static_cast<std::size_t>(id)] != 0;
                        });
    if (!wanted) continue;
    live[i] = 1;
    for (ir::ValueId id : node.inputs) read[static_cast<std::size_t>(id)] = 1;
  }
  return live;
}

std::int32_t home_backend(const ir::Graph& graph, const ir::Value& value,
                          std::int32_t host_backend) {
  return value.kind == ir::ValueKind::kInput ? host_backend : graph.node(value.producer).backend;
}

std::vector<Split> make_splits(const ir::Graph& graph, std::span<const std::uint8_t> live,
                               std::int32_t host_backend) {
  std::vector<Split> splits;
  // By backend and value: already staged there. Filled only where there is a border.
  std::vector<std::vector<std::uint8_t>> staged;
  const auto is_first_read = [&](std::int32_t backend, ir::ValueId id) {
    const auto b = static_cast<std::size_t>(backend);
    if (staged.size() <= b) staged.resize(b + 1);
    if (staged[b].empty()) staged[b].assign(graph.values().size(), 0);
    return std::exchange(staged[b][static_cast<std::size_t>(id)], std::uint8_t{1}) == 0;
  };
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i] == 0) continue;
    const ir::Node& node = graph.nodes()[i];
    if (splits.empty() || splits.back().backend != node.backend) {
      splits.emplace_back().backend = node.backend;
      splits.back().nodes.reserve(live.size() - i);
    }
    Split& split = splits.back();
    split.nodes.push_back(static_cast<ir::NodeId>(i));
    for (ir::ValueId id : node.inputs) {
      const ir::Value& value = graph.value(id);
      if (value.kind == ir::ValueKind::kWeight) continue;
      const std::int32_t home = home_backend(graph, value, host_backend);
      if (home == node.backend || !is_first_read(node.backend, id)) continue;
      split.staged.push_back({.value = id, .from_backend = home, .place = {}});
    }
  }
  return splits;
}

}  // namespace minfer::plan
