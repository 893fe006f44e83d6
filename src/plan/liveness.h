// liveness: where every value lives, by build order, in one arena a backend.
//
// Invariants: two values whose lives overlap never share a byte, but for an operation that runs in
// place. Inputs and outputs live for the whole step. An operation takes over its source's bytes
// only if it is the source's sole reader, on the same backend, the source is no graph output and
// rows and row bytes are the same; the bytes then live to the last reader of the alias. Dead nodes
// have no bytes. Offsets are multiples of 64 and a deterministic function of the arguments.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "plan/compiled_graph.h"

namespace minfer::plan {

inline constexpr std::uint64_t kArenaAlignment = 64;

/// Bytes that are in use on one backend from node `first` to node `last`, both included.
struct Interval {
  ir::ValueId value = ir::kNoValue;  // the one whose place the bytes are
  ir::NodeId first = 0;
  ir::NodeId last = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t offset = 0;
};

/// What a backend's arena holds over a step.
struct Lives {
  std::vector<Interval> intervals;   // in order of first, then value
  std::vector<ir::ValueId> storage;  // by value: whose bytes it uses (itself, or a source)
};

/// The lives on one backend. `live` as of live_nodes(), `splits` as of make_splits().
Lives find_lives(const ir::Graph& graph, const backend::Backend& backend, std::int32_t index,
                 std::int32_t host_backend, std::span<const std::uint8_t> live,
                 std::span<const Split> splits);

/// Gives every interval an offset, best fit; returns the bytes of the arena.
std::uint64_t assign_offsets(std::span<Interval> intervals);

/// The plan for all backends; fills Split::Staged::place as well.
MemoryPlan plan_memory(const ir::Graph& graph, std::span<backend::Backend* const> backends,
                       std::span<const std::uint8_t> live, std::span<Split> splits);

}  // namespace minfer::plan
