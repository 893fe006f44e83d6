// GraphCache: finds the compiled graph for a step's parameters, or builds it.
//
// Owns: the arenas (one a backend, as large as the largest plan), the KV store, and the most
// recently used compiled graphs. The cache owns the allocator, so that no rebuild can lose the KV.
// Invariants: equal parameters give the cached graph as it is: a hit builds nothing, walks no
// liveness and allocates nothing. Two caches share nothing. With verify_reuse every hit derives the
// graph again and compares node by node.
// Thread-safety: one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "plan/compiled_graph.h"
#include "plan/graph_params.h"
#include "plan/kv_store.h"

namespace minfer::plan {

/// Makes the graph for the parameters; reads nothing else.
using BuildFunction = std::function<Result<ir::Graph>(const GraphParams&)>;

struct GraphCacheOptions {
  std::size_t max_graphs = 8;   // 32 in a server
  bool trace_rebuilds = false;  // MINFER_REBUILD_TRACE: one line a build on stderr
  std::int32_t n_layers = 0;    // of the model, for the offload plan
  bool verify_reuse = kDebugBuild;
};

struct GraphCacheStats {
  std::uint64_t built = 0;
  std::uint64_t reused = 0;
  double build_seconds = 0;
};

class GraphCache {
 public:
  /// `backends` in priority order; the CPU is the last. `weights[i]` belongs to backends[i].
  GraphCache(std::vector<backend::Backend*> backends, std::vector<const backend::Weights*> weights,
             std::unique_ptr<KvStore> kv, BuildFunction build, GraphCacheOptions options);
  ~GraphCache();

  /// The graph for `params`, moved to the front. Errors are those of building and planning; with
  /// verify_reuse also kInternal, naming the node in which a fresh build differs.
  Result<CompiledGraph*> find_or_build(const GraphParams& params);

  [[nodiscard]] KvStore* kv() { return kv_.get(); }
  /// The arena of a backend; exists once a graph was built.
  [[nodiscard]] backend::Buffer& arena(std::size_t backend) { return *arenas_[backend]; }
  [[nodiscard]] std::span<backend::Backend* const> backends() const { return backends_; }
  [[nodiscard]] const GraphCacheStats& stats() const { return stats_; }
  /// Graphs that are kept.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  Result<std::unique_ptr<CompiledGraph>> build(const GraphParams& params);
  Result<ir::Graph> derive(const GraphParams& params, BuildTimes& times);
  Status plan(CompiledGraph& compiled);
  Status compile(CompiledGraph& compiled);

  std::vector<backend::Backend*> backends_;
  std::vector<const backend::Weights*> weights_;
  std::unique_ptr<KvStore> kv_;
  BuildFunction build_;
  GraphCacheOptions options_;
  std::vector<std::unique_ptr<backend::Buffer>> arenas_;
  std::vector<std::unique_ptr<CompiledGraph>> entries_;  // most recently used first
  GraphCacheStats stats_;
  std::uint64_t next_uid_ = 1;
};

}  // namespace minfer::plan
