// CompiledGraph: a graph with everything that running it takes, made once and reused.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"
#include "passes/pass.h"
#include "plan/graph_params.h"
#include "plan/inputs.h"

namespace minfer::plan {

/// A maximal run of nodes of one backend, in build order.
struct Split {
  std::int32_t backend = 0;
  std::vector<ir::NodeId> nodes;
  /// Values made on another backend (or by the host) that this split is the first of its backend to
  /// read: copied once a step into the backend's arena, before the split runs. A KV token has no
  /// bytes: its maker is only waited for.
  struct Staged {
    ir::ValueId value = ir::kNoValue;
    std::int32_t from_backend = 0;
    backend::ValuePlace place;  // in this split's backend's arena
  };
  std::vector<Staged> staged;
  std::unique_ptr<backend::Program> program;
};

/// Where everything lives: offsets in one arena a backend. Inputs live in the arena of the last
/// backend, the host's, and from there are staged like any other value.
struct MemoryPlan {
  std::vector<std::vector<backend::ValuePlace>> places;  // [backend][value]
  std::vector<std::uint64_t> arena_bytes;                // [backend]
};

/// Seconds of each stage of a build.
struct BuildTimes {
  double build = 0, assign = 0, fuse = 0, plan = 0, compile = 0;
  [[nodiscard]] double total() const { return build + assign + fuse + plan + compile; }
};

struct CompiledGraph {
  std::uint64_t uid = 0;  // counts up from 1; a reused graph keeps its own
  GraphParams params;
  ir::Graph graph;
  MemoryPlan memory;
  std::vector<Split> splits;
  StepInputs inputs;
  BuildTimes times;
};

}  // namespace minfer::plan
