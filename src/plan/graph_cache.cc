#include "plan/graph_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "passes/pass.h"
#include "plan/kv_geometry.h"
#include "plan/liveness.h"
#include "plan/splits.h"
#include "plan/trace.h"

namespace minfer::plan {
namespace {

/// Adds the seconds of its life to a total.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() {
    total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The backends that take part, and where each stands in the whole list. The last always does.
struct Participants {
  std::vector<backend::Backend*> backends;
  std::vector<std::int8_t> index;
};

Participants participants(std::span<backend::Backend* const> all, std::uint32_t set) {
  Participants result;
  for (std::size_t b = 0; b < all.size(); ++b) {
    if (b + 1 != all.size() && (set >> b & 1U) == 0) continue;
    result.backends.push_back(all[b]);
    result.index.push_back(static_cast<std::int8_t>(b));
  }
  return result;
}

}  // namespace

GraphCache::GraphCache(std::vector<backend::Backend*> backends,
                       std::vector<const backend::Weights*> weights, std::unique_ptr<KvStore> kv,
                       BuildFunction build, GraphCacheOptions options)
    : backends_(std::move(backends)),
      weights_(std::move(weights)),
      kv_(std::move(kv)),
      build_(std::move(build)),
      options_(options),
      arenas_(backends_.size()) {
  MINFER_CHECK(!backends_.empty() && weights_.size() == backends_.size());
  MINFER_CHECK(options_.max_graphs >= 1);
  entries_.reserve(options_.max_graphs + 1);
}

GraphCache::~GraphCache() = default;

Result<CompiledGraph*> GraphCache::find_or_build(const GraphParams& params) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->params == params; });
  if (found != entries_.end()) {
    std::rotate(entries_.begin(), found, found + 1);
    CompiledGraph& hit = *entries_.front();
    if (options_.verify_reuse) {
      BuildTimes ignored;
      MINFER_ASSIGN_OR_RETURN(const ir::Graph fresh, derive(params, ignored));
      const Status same = ir::compare_graphs(hit.graph, fresh);
      if (!same.ok()) return same.with_context(fmt::format("graph {} was reused", hit.uid));
    }
    ++stats_.reused;
    return &hit;
  }

  MINFER_ASSIGN_OR_RETURN(std::unique_ptr<CompiledGraph> made, build(params));
  ++stats_.built;
  stats_.build_seconds += made->times.total();
  if (options_.trace_rebuilds) {
    const GraphParams* recent = entries_.empty() ? nullptr : &entries_.front()->params;
    write_to_stderr(describe_rebuild(*made, recent));
  }
  entries_.insert(entries_.begin(), std::move(made));
  if (entries_.size() > options_.max_graphs) entries_.pop_back();
  return entries_.front().get();
}

Result<ir::Graph> GraphCache::derive(const GraphParams& params, BuildTimes& times) {
  auto built = [&] {
    const Stopwatch watch(times.build);
    return build_(params);
  }();
  if (!built.ok()) return built.status();
  ir::Graph graph = std::move(built).value();
  const Participants who = participants(backends_, params.backend_set);
  const passes::PassContext context{.backends = who.backends,
                                    .fuse_qkv = params.fuse_qkv,
                                    .fuse_ffn = params.fuse_ffn,
                                    .gpu_layers = params.gpu_layers,
                                    .n_layers = options_.n_layers};
  {
    const Stopwatch watch(times.assign);
    MINFER_RETURN_IF_ERROR(passes::assign_backends(graph, context));
  }
  const Stopwatch watch(times.fuse);
  MINFER_RETURN_IF_ERROR(passes::run_passes(graph, context));
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    std::int8_t& backend = graph.mutable_node(static_cast<ir::NodeId>(n)).backend;
    backend = who.index[static_cast<std::size_t>(backend)];
  }
  return graph;
}

Result<std::unique_ptr<CompiledGraph>> GraphCache::build(const GraphParams& params) {
  if (kv_ != nullptr) {
    MINFER_RETURN_IF_ERROR(require_same_region(kv_->geometry(), params.n_ctx, params.kv_format));
  }
  auto compiled = std::make_unique<CompiledGraph>();
  compiled->params = params;
  MINFER_ASSIGN_OR_RETURN(compiled->graph, derive(params, compiled->times));
  compiled->uid = next_uid_;
  {
    const Stopwatch watch(compiled->times.plan);
    MINFER_RETURN_IF_ERROR(plan(*compiled));
  }
  {
    const Stopwatch watch(compiled->times.compile);
    MINFER_RETURN_IF_ERROR(compile(*compiled));
  }
  ++next_uid_;
  return compiled;
}

Status GraphCache::plan(CompiledGraph& compiled) {
  const std::vector<std::uint8_t> live = live_nodes(compiled.graph);
  const auto host = static_cast<std::int32_t>(backends_.size() - 1);
  compiled.splits = make_splits(compiled.graph, live, host);
  compiled.memory = plan_memory(compiled.graph, backends_, live, compiled.splits);
  compiled.inputs = StepInputs(compiled.graph, compiled.memory.places.back());
  for (std::size_t b = 0; b < backends_.size(); ++b) {
    const std::uint64_t bytes = std::max(compiled.memory.arena_bytes[b], kArenaAlignment);
    if (arenas_[b] == nullptr) {
      MINFER_ASSIGN_OR_RETURN(arenas_[b], backends_[b]->allocate(bytes));
    } else if (arenas_[b]->size_bytes() < bytes) {
      MINFER_RETURN_IF_ERROR(arenas_[b]->grow(bytes));
    }
  }
  return ok_status();
}

Status GraphCache::compile(CompiledGraph& compiled) {
  for (Split& split : compiled.splits) {
    const auto b = static_cast<std::size_t>(split.backend);
    const backend::CompileRequest request{.graph = &compiled.graph,
                                          .graph_uid = compiled.uid,
                                          .nodes = split.nodes,
                                          .places = compiled.memory.places[b],
                                          .weights = weights_[b],
                                          .kv = kv_ != nullptr ? &kv_->geometry() : nullptr};
    MINFER_ASSIGN_OR_RETURN(split.program, backends_[b]->compile(request));
  }
  return ok_status();
}

}  // namespace minfer::plan
