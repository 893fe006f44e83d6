// splits: cuts the node list into maximal runs of one backend, and finds what crosses a border.
//
// Invariants: dead nodes are in no split; the splits' nodes together are the live nodes in build
// order. A value that a backend reads and did not make is staged exactly once on it, by its first
// split that reads it.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "plan/compiled_graph.h"

namespace minfer::plan {

/// By node: 1 if it has to run, because it changes the KV or a state, or an output or a live node
/// reads what it makes.
std::vector<std::uint8_t> live_nodes(const ir::Graph& graph);

/// The splits of the live nodes, without programs or places. Inputs are made by `host_backend`.
std::vector<Split> make_splits(const ir::Graph& graph, std::span<const std::uint8_t> live,
                               std::int32_t host_backend);

/// The backend that makes a value: its producer's, or the host's for an input.
std::int32_t home_backend(const ir::Graph& graph, const ir::Value& value,
                          std::int32_t host_backend);

}  // namespace minfer::plan
