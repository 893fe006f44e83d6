// Runtime: what all programs of one CPU backend share.
//
// Owns: the thread pool, the scratch memory, the RoPE tables, the op times. Outlives the programs.
// Invariants: scratch and tables grow when programs are compiled, never while one runs.
// Thread-safety: one thread at a time, except scratch(), which is const.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/thread_pool.h"
#include "cpu/isa.h"
#include "cpu/memory_block.h"
#include "cpu/phase.h"
#include "cpu/rope_table.h"

namespace minfer::cpu {

class Runtime {
 public:
  Runtime(Isa isa, int n_threads, bool op_timing, std::int64_t serial_cost);

  [[nodiscard]] Isa isa() const { return isa_; }
  [[nodiscard]] int n_threads() const { return pool_.size(); }
  ThreadPool& pool() { return pool_; }
  /// Phases that cost less run on one thread.
  [[nodiscard]] std::int64_t serial_cost() const { return serial_cost_; }

  /// Makes every thread's scratch and the shared one at least this large.
  Status reserve_scratch(std::uint64_t thread_bytes, std::uint64_t tile_bytes,
                         std::uint64_t shared_bytes);
  /// Scratch of thread 0..n_threads()-1; n_threads(): of whoever runs a serial phase.
  [[nodiscard]] std::byte* scratch(int thread) const {
    return scratch_.data() + static_cast<std::uint64_t>(thread) * thread_bytes_;
  }
  /// The tile scratch of the same threads.
  [[nodiscard]] std::byte* tile(int thread) const {
    return tiles_.data() + static_cast<std::uint64_t>(thread) * tile_bytes_;
  }
  /// The range counters of a parallel phase: two sets take turns, so that one can be cleared while
  /// the other is in use. The serial phases have one counter.
  [[nodiscard]] RangeCounter* ranges(std::size_t set) const {
    return ranges_.get() + set * static_cast<std::size_t>(n_threads());
  }
  [[nodiscard]] RangeCounter* serial_range() const { return ranges(kRangeSets); }
  static constexpr std::size_t kRangeSets = 2;

  [[nodiscard]] std::byte* shared_scratch() const { return shared_.data(); }

  /// The table for `key` with at least n_positions; its address stays.
  Result<RopeTable*> rope_table(const RopeTableKey& key, std::int32_t n_positions);

  [[nodiscard]] bool op_timing() const { return op_timing_; }
  /// Index of the entry named `op`, which is made if it is not there.
  std::size_t timing_entry(const std::string& op);
  backend::OpTiming& timing(std::size_t entry) { return timings_[entry]; }
  /// The entries that were called since the last time, and zeroes them.
  std::vector<backend::OpTiming> take_timings();

 private:
  Isa isa_;
  bool op_timing_;
  std::int64_t serial_cost_;
  ThreadPool pool_;
  std::unique_ptr<RangeCounter[]> ranges_;
  MemoryBlock scratch_;
  MemoryBlock tiles_;
  MemoryBlock shared_;
  std::uint64_t thread_bytes_ = 0;
  std::uint64_t tile_bytes_ = 0;
  std::vector<std::unique_ptr<RopeTable>> rope_tables_;
  std::vector<backend::OpTiming> timings_;
};

}  // namespace minfer::cpu
