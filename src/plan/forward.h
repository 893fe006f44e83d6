// Forward: rows of (token, position, sequence) in, logits out. The one entry to the engine's heart.
//
// Owns: a graph cache (and through it arenas and KV), the scheduler's staging, the observers.
// Invariants: a forward either completes and moves the cursors of its sequences, or leaves no trace
// but rows past the cursors. The steady state allocates nothing.
// Thread-safety: one thread at a time; request_cancel() from any thread or signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "plan/graph_cache.h"
#include "plan/scheduler.h"

namespace minfer::plan {

struct Row {
  std::int32_t token = 0;
  std::int32_t position = 0;  // must be the sequence's length plus its rows before this one
  SequenceId sequence = 0;
  bool wants_output = false;
};

/// Row i is logits[i * n_vocab ...]: one row a Row with wants_output, in their order. Valid until
/// the next forward.
struct LogitsView {
  const float* data = nullptr;
  std::int32_t n_rows = 0;
  std::int64_t n_vocab = 0;  // or n_embd for OutputKind::kHidden
  [[nodiscard]] std::span<const float> row(std::int32_t i) const {
    return {data + static_cast<std::int64_t>(i) * n_vocab, static_cast<std::size_t>(n_vocab)};
  }
};

struct ForwardOptions {
  std::int32_t max_batch = 512;  // --batch-size
  std::int64_t n_vocab = 0;      // ids are checked against it
  /// The fields of GraphParams that do not depend on the rows.
  GraphParams base_params;
  bool trace_graph = false;  // MINFER_GRAPH_TRACE: split layout and op census a forward
  std::string dump_dir;      // MINFER_GRAPH_DUMP: empty is off (plan/graph_dump.h)
  /// Fills the host's arena with NaN before each step.
  bool poison = kDebugBuild;
};

class Forward {
 public:
  Forward(std::unique_ptr<GraphCache> cache, ForwardOptions options);
  ~Forward();

  /// Runs the rows (1..max_batch). Errors: a position that is not the sequence's next, or >= n_ctx
  /// (kOutOfRange); an id outside the vocabulary (kOutOfRange); no rows, too many or a sequence
  /// that is not open (kInvalidArgument); no free page (kOutOfMemory); cancelled (kCancelled). A
  /// dump that cannot be written is reported (kIo) after the cursors have moved.
  Result<LogitsView> run(std::span<const Row> rows);

  /// Makes the running and the next forward stop with kCancelled until clear_cancel().
  void request_cancel();
  void clear_cancel();

  [[nodiscard]] GraphCache& cache();
  [[nodiscard]] KvStore& kv();
  [[nodiscard]] const ForwardOptions& options() const;
  [[nodiscard]] const Scheduler::Counters& counters() const;
  /// The graph that `n_tokens` rows with `n_out` outputs would run (--dump-graph).
  Result<CompiledGraph*> compiled(std::int32_t n_tokens, std::int32_t n_out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace minfer::plan
