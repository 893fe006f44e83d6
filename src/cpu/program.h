// CpuProgram: a split compiled into a flat list of phases.
//
// All threads walk the list together. Between phases they meet at a barrier. A phase that is cheap
// for the live rows is run by the last thread to arrive at the barrier before it, while the others
// wait anyway; several cheap ones in a row follow each other there. Which phases are cheap changes
// no bit of the result. Invariants: run() allocates nothing. Thread-safety: one thread calls run();
// it uses the runtime's pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "cpu/phase.h"
#include "cpu/runtime.h"

namespace minfer::cpu {

class CpuProgram final : public backend::Program {
 public:
  static Result<std::unique_ptr<CpuProgram>> compile(Runtime& runtime,
                                                     const backend::CompileRequest& request);

  Status run(const backend::StepContext& step) override;
  [[nodiscard]] std::int32_t barriers() const override;

 private:
  using Clock = std::chrono::steady_clock;

  /// What a node reads and writes: fixed (weights) and by live row.
  struct NodeTraffic {
    Traffic fixed, per_token, per_out;
  };
  struct Entry {
    std::unique_ptr<Phase> phase;
    std::size_t timing = 0;      // entry in the runtime's table
    const NodeTraffic* traffic;  // of the node, with its first phase; else null
  };
  struct alignas(kAlignment) Counter {
    std::atomic<std::int64_t> next{0};
  };

  explicit CpuProgram(Runtime& runtime) : runtime_(runtime) {}

  Status compile_node(const backend::CompileRequest& request, ir::NodeId node);
  static NodeTraffic node_traffic(const backend::CompileRequest& request, const ir::Node& node);
  [[nodiscard]] bool is_serial(std::size_t phase, const backend::StepContext& step) const;
  /// The first phase from `phase` on that all threads take part in, or the end.
  [[nodiscard]] std::size_t next_parallel(std::size_t phase) const;
  void run_serial(std::size_t begin, std::size_t end);
  void run_parallel(std::size_t phase, int thread, RangeCounter* ranges);
  void thread_body(int thread, std::size_t first);
  [[nodiscard]] bool check_cancel();
  void record(std::size_t phase, Clock::duration time);

  Runtime& runtime_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<NodeTraffic>> traffic_;
  std::unique_ptr<Counter[]> counters_;  // by phase

  // Of the run in progress.
  const backend::StepContext* step_ = nullptr;
  std::vector<std::uint8_t> serial_;  // by phase
  Clock::duration serial_time_{};     // spent in serial phases since thread 0 looked
  std::size_t done_ = 0;              // phases that all threads have behind them
  bool stop_ = false;                 // written by whoever is last at a barrier
};

}  // namespace minfer::cpu
