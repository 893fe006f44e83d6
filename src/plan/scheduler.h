// Scheduler: runs a compiled graph. One walk over the split list; what crosses a border is copied
// once, and its maker waited for once, at the first read.
//
// Owns: host memory through which two devices exchange what neither can see of the other.
// Invariants: nothing is running on any backend when run() returns. The steady state allocates
// nothing.
// Thread-safety: one thread at a time; the cancel flag may be set from anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "plan/graph_cache.h"

namespace minfer::plan {

/// The live extents of a step and what it works on.
struct Step {
  std::int32_t n_tokens = 0;
  std::int32_t n_out = 0;
  backend::KvAccess kv = {};
  const std::atomic<bool>* cancel = nullptr;
};

class Scheduler {
 public:
  explicit Scheduler(GraphCache& cache);

  /// Runs all splits. kInternal: an input was not filled; kCancelled: the flag was seen before a
  /// split or by a program.
  Status run(CompiledGraph& graph, const Step& step);

  struct Counters {
    std::uint64_t waits = 0;  // for a backend that another one or the host reads from
    std::uint64_t copies = 0;
    std::uint64_t copied_bytes = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  Status run_splits(CompiledGraph& graph, const Step& step);
  Status stage(const CompiledGraph& graph, const Split& split, const Split::Staged& staged,
               const backend::StepContext& context);
  Status copy(std::int32_t from, std::int32_t to, std::uint64_t from_offset,
              std::uint64_t to_offset, std::uint64_t size_bytes);
  Status wait_for(std::int32_t backend);

  GraphCache& cache_;
  std::vector<std::uint8_t> busy_;  // by backend: started something that was not waited for
  std::vector<std::byte> bounce_;
  Counters counters_;
};

}  // namespace minfer::plan
