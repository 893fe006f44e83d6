#include "cpu/runtime.h"

#include <algorithm>
#include <utility>

#include "cpu/phase.h"

namespace minfer::cpu {

Runtime::Runtime(Isa isa, int n_threads, bool op_timing, std::int64_t serial_cost)
    : isa_(isa), op_timing_(op_timing), serial_cost_(serial_cost), pool_(n_threads) {
  ranges_ = std::make_unique<RangeCounter[]>(
      kRangeSets * static_cast<std::size_t>(this->n_threads()) + 1);
}

Status Runtime::reserve_scratch(std::uint64_t thread_bytes, std::uint64_t tile_bytes,
                                std::uint64_t shared_bytes) {
  const auto slots = static_cast<std::uint64_t>(n_threads()) + 1;
  thread_bytes = aligned(thread_bytes);
  tile_bytes = aligned(tile_bytes);
  if (tile_bytes > tile_bytes_) {
    MINFER_ASSIGN_OR_RETURN(tiles_, MemoryBlock::create(slots * tile_bytes));
    tile_bytes_ = tile_bytes;
  }
  if (thread_bytes > thread_bytes_) {
    MINFER_ASSIGN_OR_RETURN(scratch_, MemoryBlock::create(slots * thread_bytes));
    thread_bytes_ = thread_bytes;
#if defined(MINFER_DEBUG)
    scratch_.poison();
#endif
  }
  if (shared_bytes > shared_.size_bytes()) {
    MINFER_ASSIGN_OR_RETURN(shared_, MemoryBlock::create(shared_bytes));
  }
  return ok_status();
}

Result<RopeTable*> Runtime::rope_table(const RopeTableKey& key, std::int32_t n_positions) {
  for (const auto& table : rope_tables_) {
    if (table->key() == key && table->n_positions() >= n_positions) return table.get();
  }
  MINFER_ASSIGN_OR_RETURN(RopeTable table, RopeTable::create(key, n_positions));
  rope_tables_.push_back(std::make_unique<RopeTable>(std::move(table)));
  return rope_tables_.back().get();
}

std::size_t Runtime::timing_entry(const std::string& op) {
  const auto found =
      std::find_if(timings_.begin(), timings_.end(), [&](const auto& t) { return t.op == op; });
  if (found != timings_.end()) return static_cast<std::size_t>(found - timings_.begin());
  timings_.push_back({.op = op});
  return timings_.size() - 1;
}

std::vector<backend::OpTiming> Runtime::take_timings() {
  std::vector<backend::OpTiming> taken;
  for (backend::OpTiming& t : timings_) {
    if (t.calls == 0) continue;
    taken.push_back(t);
    t = {.op = t.op};
  }
  return taken;
}

}  // namespace minfer::cpu
