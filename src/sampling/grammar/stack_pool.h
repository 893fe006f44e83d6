// StackPool: the stacks of the matcher, which share their lower parts.
//
// Owns: the frames. A stack is the number of its top frame; kEmptyStack is the empty one.
// Invariants: frames are immutable and equal stacks have equal numbers. A frame is either the
// instruction to return to, or a loop with the number of its finished iterations, which stops at
// the loop's min where there is no max.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "sampling/grammar/hash_index.h"
#include "sampling/grammar/program.h"

namespace minfer::sampling {

using Stack = std::uint32_t;
inline constexpr Stack kEmptyStack = 0;

class StackPool {
 public:
  struct Frame {
    std::uint64_t count = 0;   // of a loop
    std::uint32_t number = 0;  // the instruction, or the loop
    bool is_loop = false;
    Stack parent = kEmptyStack;
    std::uint32_t height = 0;
    Stack shape = kEmptyStack;   // the stack with all counts 0
    Stack folded = kEmptyStack;  // see set_horizon()
  };

  explicit StackPool(const Program& program) : program_(program) { clear(); }

  /// No question looks further than `characters` ahead: counts whose limits are all further away
  /// are alike, and a stack's `folded` has one of them in place of the others. Before the first
  /// push.
  void set_horizon(std::uint64_t characters) { horizon_ = characters; }

  [[nodiscard]] const Frame& operator[](Stack stack) const { return frames_[stack]; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }

  Stack push_return(Stack parent, Pc pc) { return push(parent, pc, false, 0); }
  Stack push_loop(Stack parent, std::uint32_t loop, std::uint64_t count) {
    return push(parent, loop, true, count);
  }
  /// The frame of `from`, which another pool may own, on `parent`.
  Stack push_copy(Stack parent, const Frame& from) {
    return push(parent, from.number, from.is_loop, from.count);
  }

  /// Forgets all stacks.
  void clear();

  /// Whether every text that may follow with `b` may follow with `a`, by the counts: both have the
  /// same shape. May say no where it is so.
  [[nodiscard]] bool covers(Stack a, Stack b) const;

 private:
  Stack push(Stack parent, std::uint32_t number, bool is_loop, std::uint64_t count);
  [[nodiscard]] std::uint64_t fold(std::uint32_t loop, std::uint64_t count) const;

  const Program& program_;
  std::uint64_t horizon_ = Loop::kUnbounded;
  std::vector<Frame> frames_;
  HashIndex index_;
};

}  // namespace minfer::sampling
