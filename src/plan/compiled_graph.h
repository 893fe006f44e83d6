// CompiledGraph: a graph with everything that running it takes, made once and reused.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"
#include "passes/pass.h"
#include "plan/graph_params.h"

namespace minfer::plan {

/// A maximal run of nodes of one backend.
struct Split {
  std::int32_t backend = 0;
  std::vector<ir::NodeId> nodes;
  /// Values made on another backend (or by the host) that this split reads: copied once a step, at
  /// the first reader, into the split's backend's arena.
  struct Staged {
    ir::ValueId value = ir::kNoValue;
    std::int32_t from_backend = 0;
    backend::ValuePlace place;  // in this split's backend's arena
  };
  std::vector<Staged> staged;
  std::unique_ptr<backend::Program> program;
};

/// Where everything lives: offsets in one arena a backend.
struct MemoryPlan {
  std::vector<std::vector<backend::ValuePlace>> places;  // [backend][value]
  std::vector<std::uint64_t> arena_bytes;                // [backend]
};

/// Seconds of each stage of a build.
struct BuildTimes {
  double build = 0, assign = 0, fuse = 0, plan = 0;
  [[nodiscard]] double total() const { return build + assign + fuse + plan; }
};

struct CompiledGraph {
  std::uint64_t uid = 0;  // counts up from 1; a reused graph keeps its own
  GraphParams params;
  ir::Graph graph;
  MemoryPlan memory;
  std::vector<Split> splits;
  BuildTimes times;
};

}  // namespace minfer::plan
