// History: the newest tokens of the sequence, for the penalties.
//
// Owns: a ring that takes its memory as it fills and holds at most what it was made for.
// Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sampling/sampler_options.h"
#include "sampling/token_id.h"

namespace minfer::sampling {

class History {
 public:
  /// For `capacity` tokens.
  explicit History(std::size_t capacity) : capacity_(capacity) { ring_.reserve(capacity); }

  void add(TokenId token) {
    if (capacity_ == 0) return;
    if (ring_.size() < capacity_) {
      ring_.push_back(token);
      return;
    }
    ring_[oldest_] = token;
    oldest_ = oldest_ + 1 == capacity_ ? 0 : oldest_ + 1;
  }
  void clear() {
    ring_.clear();
    oldest_ = 0;
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t size() const { return ring_.size(); }
  /// The i-th newest, 0 the newest; i < size().
  [[nodiscard]] TokenId newest(std::size_t i) const {
    const std::size_t back = oldest_ + ring_.size() - 1 - i;
    return ring_[back < ring_.size() ? back : back - ring_.size()];
  }

 private:
  std::size_t capacity_;
  std::size_t oldest_ = 0;
  std::vector<TokenId> ring_;
};

/// Tokens that an option for a window means: -1 is as many as there can be.
inline std::size_t window_size(std::int32_t option) {
  return static_cast<std::size_t>(option < 0 ? kMaxWindow : option);
}

}  // namespace minfer::sampling
