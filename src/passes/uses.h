// Uses: who reads each value of a graph.
//
// Invariants: a picture of the graph at the time it was made; a pass that changes nodes asks
// Rewrite which of them still stand.
// Thread-safety: const access from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace minfer::passes {

class Uses {
 public:
  explicit Uses(const ir::Graph& graph);

  /// The nodes that read `id`, in build order; one that reads it twice stands there twice.
  [[nodiscard]] std::span<const ir::NodeId> readers(ir::ValueId id) const {
    const auto i = static_cast<std::size_t>(id);
    return std::span(readers_).subspan(first_[i], first_[i + 1] - first_[i]);
  }
  /// The only node that reads `id`; kNoNode if there are none or several, or `id` is an output of
  /// the graph.
  [[nodiscard]] ir::NodeId sole_reader(ir::ValueId id) const;

 private:
  std::vector<std::size_t> first_;  // by ValueId: where its readers start
  std::vector<ir::NodeId> readers_;
  std::vector<bool> is_output_;
};

}  // namespace minfer::passes
