// Passes: one rewrite of the graph each, run in the order of passes.def between assignment and
// planning. In debug builds the graph is verified after every pass.
//
// Invariants: a pass changes no result bit; a fused node's unfused twin computes the same. A pass
// only joins nodes of one backend that says it can run the fused operation.
// Thread-safety: a pass is a function of its arguments.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "base/status.h"
#include "ir/graph.h"

namespace minfer::passes {

/// What a pass may look at.
struct PassContext {
  std::span<backend::Backend* const> backends;  // in priority order, by Node::backend
  bool fuse_qkv = true;
  bool fuse_ffn = true;
  /// Layers [0, n_layers - gpu_layers) stay off backend 0 when it is not the last one. Nodes of no
  /// layer (embedding, head) stay off it when every layer does. n_layers 0: no plan, all may.
  std::int32_t gpu_layers = 0;
  std::int32_t n_layers = 0;
  std::uint32_t disabled_passes = 0;  // or of pass_bit(name): passes that are left out
  bool verify = false;                // after every pass; debug builds always do
};

using PassFunction = Status (*)(ir::Graph& graph, const PassContext& context);

struct Pass {
  std::string_view name;
  PassFunction run;
};

/// The passes in order.
std::span<const Pass> all_passes();

/// The bit of a pass in PassContext::disabled_passes; 0 if there is no pass of this name.
std::uint32_t pass_bit(std::string_view name);

/// Seconds spent in each pass of one run, in the order of all_passes().
struct PassTimes {
  static constexpr int kMaxPasses = 16;
  std::array<double, kMaxPasses> seconds{};
};

/// Gives every node a backend: the first in priority order that can run it within the offload plan.
/// kUnsupported names the node that none can run.
Status assign_backends(ir::Graph& graph, const PassContext& context);

/// Runs all passes over a graph that has its backends assigned. The error names the pass.
Status run_passes(ir::Graph& graph, const PassContext& context, PassTimes* times = nullptr);

/// Each pass by its name, as run_passes calls it.
#define MINFER_PASS(name) Status name(ir::Graph& graph, const PassContext& context);
#include "passes/passes.def"
#undef MINFER_PASS

}  // namespace minfer::passes
