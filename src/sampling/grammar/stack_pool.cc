#include "sampling/grammar/stack_pool.h"

namespace minfer::sampling {

void StackPool::clear() {
  frames_.assign(1, Frame{});
  index_.clear();
}

Stack StackPool::push(Stack parent, std::uint32_t number, bool is_loop, std::uint64_t count) {
  std::uint64_t hash = mix_hash(parent, std::uint64_t{number} * 2 + (is_loop ? 1 : 0));
  hash = mix_hash(hash, count);
  const auto fresh = static_cast<Stack>(frames_.size());
  const Stack found = index_.find_or_insert(hash, fresh, [&](Stack at) {
    const Frame& frame = frames_[at];
    return frame.parent == parent && frame.number == number && frame.is_loop == is_loop &&
           frame.count == count;
  });
  if (found != fresh) return found;
  frames_.push_back({count, number, is_loop, parent, frames_[parent].height + 1, fresh, fresh});
  const Stack parent_shape = frames_[parent].shape;
  if (count != 0 || parent_shape != parent) {
    const Stack shape = push(parent_shape, number, is_loop, 0);
    frames_[fresh].shape = shape;
  }
  const Stack parent_folded = frames_[parent].folded;
  const std::uint64_t folded_count = is_loop ? fold(number, count) : 0;
  if (folded_count != count || parent_folded != parent) {
    const Stack folded = push(parent_folded, number, is_loop, folded_count);
    frames_[fresh].folded = folded;
  }
  return fresh;
}

std::uint64_t StackPool::fold(std::uint32_t loop, std::uint64_t count) const {
  const std::uint64_t min = program_.loops[loop].min;
  const std::uint64_t max = program_.loops[loop].max;
  if (max != Loop::kUnbounded && max - count <= horizon_) return count;
  if (count >= min) return min;
  // Below min only the limits' distances matter, so all counts far from both are alike.
  return min - count > horizon_ ? 0 : count;
}

bool StackPool::covers(Stack a, Stack b) const {
  while (a != b) {
    const Frame& x = frames_[a];
    const Frame& y = frames_[b];
    if (x.count != y.count) {
      const std::uint64_t min = program_.loops[x.number].min;
      if (x.count > y.count || x.count < min) return false;
    }
    a = x.parent;
    b = y.parent;
  }
  return true;
}

}  // namespace minfer::sampling
