// Phases: what a compiled program is a list of.
//
// A phase is a piece of work that all threads do together, taking numbered items from a counter.
// Its result does not depend on who takes which item, nor on whether one thread takes them all.
// Thread-safety: run() is called by all threads at once (or by one); prepare() by one thread
// before.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend/backend.h"
#include "cpu/isa.h"

namespace minfer::cpu {

/// Bytes and elements rounded up to whole cache lines, so that rows and scratch never share one.
inline constexpr std::uint64_t kAlignment = 64;
inline std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// How many items of its own range a thread, and whoever helped it, has taken.
struct alignas(kAlignment) RangeCounter {
  std::atomic<std::int64_t> taken{0};
};

/// One thread's view of a running phase.
struct PhaseContext {
  const backend::StepContext& step;
  Isa isa;
  std::byte* scratch;  // of this thread, 64-byte aligned
  std::byte* tile;     // of this thread too: MatMulArgs::tile of every product of the node
  std::byte* shared;   // of all threads, for what passes between the phases of one node
  std::atomic<std::int64_t>& next_item;
  RangeCounter* ranges;  // of the threads, for RangeItems
  int thread;
  int n_threads;  // how many take items; 1: this thread does it all

  /// The number of an item that nobody else gets.
  [[nodiscard]] std::int64_t claim() const {
    return next_item.fetch_add(1, std::memory_order_relaxed);
  }
};

/// The items of a phase that streams through memory: each thread has a range of its own, side by
/// side, and helps with the others' when it is done. A run of memory without gaps is read about
/// twice as fast as pieces of it that threads take in turn.
class RangeItems {
 public:
  RangeItems(const PhaseContext& context, std::int64_t n)
      : c_(context), n_(n), owner_(context.thread) {}

  /// The number of an item that nobody else gets; -1: there is none left.
  std::int64_t next() {
    for (; n_helped_ < c_.n_threads; ++n_helped_, owner_ = (owner_ + 1) % c_.n_threads) {
      const std::int64_t begin = n_ * owner_ / c_.n_threads;
      const std::int64_t end = n_ * (owner_ + 1) / c_.n_threads;
      const std::int64_t i =
          begin + c_.ranges[owner_].taken.fetch_add(1, std::memory_order_relaxed);
      if (i < end) return i;
    }
    return -1;
  }

 private:
  const PhaseContext& c_;
  std::int64_t n_;
  int owner_;
  int n_helped_ = 0;  // threads whose range is empty
};

/// Bytes and floating-point operations, for the timing table.
struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
};

class Phase {
 public:
  /// The cost of work that always goes to all threads.
  static constexpr std::int64_t kParallel = INT64_MAX;

  virtual ~Phase() = default;
  /// Rough cost of the whole phase for the live rows, in units of one multiply-add of a row kernel
  /// (about 0.2 ns); 0: always left to one thread. A cheap phase is done by one thread, without a
  /// barrier.
  [[nodiscard]] virtual std::int64_t cost(const backend::StepContext& step) const = 0;
  /// Called before every run of the program, when its inputs are in place.
  virtual void prepare(const backend::StepContext& /*step*/) {}
  virtual void run(const PhaseContext& context) = 0;
  /// What depends on the step's data and so is not known when the node is compiled.
  [[nodiscard]] virtual Traffic traffic(const backend::StepContext& /*step*/) const { return {}; }
};

/// Rows in the arena or in the shared scratch.
struct RowsRef {
  bool in_shared = false;
  std::uint64_t offset = 0;
  std::uint64_t row_bytes = 0;

  [[nodiscard]] std::byte* row(const PhaseContext& c, std::int64_t r) const {
    return (in_shared ? c.shared : c.step.arena) + offset +
           static_cast<std::uint64_t>(r) * row_bytes;
  }
  [[nodiscard]] float* floats(const PhaseContext& c, std::int64_t r) const {
    return reinterpret_cast<float*>(row(c, r));
  }
};

/// A value of the graph in the arena.
struct ValueRef : RowsRef {
  const ir::Value* value = nullptr;
  bool placed = false;

  [[nodiscard]] std::int64_t live(const backend::StepContext& step) const {
    return step.live_rows(*value);
  }
  [[nodiscard]] std::int64_t capacity() const { return value->shape.rows(); }
  [[nodiscard]] std::int64_t elements() const { return value->shape.row_elements(); }
  /// An I32 input's row, before or inside the phases.
  [[nodiscard]] const std::int32_t* ints(const backend::StepContext& step, std::int64_t r) const {
    return reinterpret_cast<const std::int32_t*>(step.arena + offset +
                                                 static_cast<std::uint64_t>(r) * row_bytes);
  }
};

/// Calls body(begin, end) for parts of [0, n) that this thread gets.
template <class Body>
void for_each_chunk(const PhaseContext& c, std::int64_t n, Body body) {
  const std::int64_t parts = c.n_threads == 1 ? 1 : 4 * c.n_threads;
  const std::int64_t chunk = std::max<std::int64_t>((n + parts - 1) / parts, 1);
  for (std::int64_t begin = c.claim() * chunk; begin < n; begin = c.claim() * chunk) {
    body(begin, std::min(begin + chunk, n));
  }
}

/// A phase that treats rows one by one: `body(context, begin, end)` does rows [begin, end).
template <class Body>
class RowPhase final : public Phase {
 public:
  RowPhase(const ValueRef& rows, std::int64_t cost_per_row, Body body)
      : rows_(rows), cost_per_row_(cost_per_row), body_(std::move(body)) {}

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return rows_.live(step) * cost_per_row_;
  }
  void run(const PhaseContext& c) override {
    for_each_chunk(c, rows_.live(c.step),
                   [&](std::int64_t begin, std::int64_t end) { body_(c, begin, end); });
  }

 private:
  ValueRef rows_;
  std::int64_t cost_per_row_;
  Body body_;
};

}  // namespace minfer::cpu
