// HashIndex: finds the number of an equal entry in a table that its owner keeps.
//
// Invariants: open addressing, at most half full; a number is never taken out alone.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace minfer::sampling {

/// Spreads the bits of `value`, chained by `seed` (the finalizer of MurmurHash3).
constexpr std::uint64_t mix_hash(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t h = seed ^ (value + 0x9E3779B97F4A7C15U + (seed << 6) + (seed >> 2));
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDU;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53U;
  return h ^ (h >> 33);
}

class HashIndex {
 public:
  /// The number whose entry `equal(number)` accepts; where there is none, `fresh` is entered and
  /// comes back.
  template <class Equal>
  std::uint32_t find_or_insert(std::uint64_t hash, std::uint32_t fresh, Equal equal) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number != kNone; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash && equal(slots_[at].number)) return slots_[at].number;
    }
    slots_[at] = {hash, fresh};
    ++size_;
    return fresh;
  }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = kNone;
  };

  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : 2 * old.size(), Slot{});
    for (const Slot& slot : old) {
      if (slot.number == kNone) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace minfer::sampling
