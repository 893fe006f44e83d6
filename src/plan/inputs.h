// StepInputs: the inputs of a compiled graph, and which of them a step has filled.
//
// Owns: one flag an input; the bytes are in the host's arena.
// Invariants: only inputs that a live node reads are here. A step that has not filled all of them
// does not run.
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "ir/graph.h"

namespace minfer::plan {

/// The I32 rows of one input in the arena; empty where the graph does not read it.
struct InputRows {
  std::byte* data = nullptr;
  std::uint64_t row_bytes = 0;
  std::int64_t n_rows = 0;
  std::int64_t row_elements = 0;

  [[nodiscard]] bool empty() const { return data == nullptr; }
  [[nodiscard]] std::span<std::int32_t> row(std::int64_t r) const {
    return {reinterpret_cast<std::int32_t*>(data + static_cast<std::uint64_t>(r) * row_bytes),
            static_cast<std::size_t>(row_elements)};
  }
  /// A value of rank 1 as one list.
  [[nodiscard]] std::span<std::int32_t> list() const {
    return {reinterpret_cast<std::int32_t*>(data), static_cast<std::size_t>(n_rows)};
  }
};

class StepInputs {
 public:
  StepInputs() = default;
  /// `places` of the host's arena, by value.
  StepInputs(const ir::Graph& graph, std::span<const backend::ValuePlace> places);

  /// Forgets what the last step filled.
  void begin_step();
  /// Where to write an input; it counts as filled from now on.
  InputRows fill(ir::InputKind kind, std::int32_t group, std::byte* arena);
  /// kInternal, naming the first input that nobody filled since begin_step().
  [[nodiscard]] Status check_filled(const ir::Graph& graph) const;

 private:
  struct Slot {
    ir::ValueId value = ir::kNoValue;
    ir::InputKind kind{};
    std::int32_t group = 0;
    std::int64_t n_rows = 0;
    std::int64_t row_elements = 0;
    backend::ValuePlace place;
    bool filled = false;
  };
  std::vector<Slot> slots_;
};

}  // namespace minfer::plan
