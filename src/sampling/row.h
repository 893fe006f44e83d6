// Row: the logits of one position as the chain changes them, without a copy.
//
// Owns: the tokens whose logit is no longer the model's (few), which of the others are legal (a
// bit each), and the largest logit of each block of 64. The logits themselves are the caller's.
// Invariants: nothing is allocated after creation. No logit is NaN or +infinity; one of -infinity
// is never drawn.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/status.h"
#include "sampling/token_id.h"
#include "sampling/weight.h"

namespace minfer::sampling {

inline constexpr float kNever = -std::numeric_limits<float>::infinity();

class Row {
 public:
  /// A token whose logit was adjusted, or that was looked at to adjust it.
  struct Adjusted {
    TokenId token;
    float logit;
    std::int32_t count = 0;   // how often the penalties' window has it
    std::int32_t repeat = 0;  // the longest repetition that it would go on with
  };

  /// `n_adjusted`: tokens that are adjusted at most.
  Row(std::size_t n_vocab, std::size_t n_adjusted);

  /// Starts with the model's logits, [n_vocab], which must stay. kNumeric: one is NaN or +infinity
  /// (named by `position` and id).
  Status set(std::span<const float> logits, std::int64_t position);

  /// The entry of `token`, to change; valid until the next adjust() of another token.
  Adjusted& adjust(TokenId token);
  [[nodiscard]] std::span<Adjusted> adjusted() { return adjusted_; }
  [[nodiscard]] std::span<const Adjusted> adjusted() const { return adjusted_; }

  /// Leaves only the tokens whose bit is set: bit id % 64 of word id / 64.
  void restrict_to(std::span<const std::uint64_t> allowed);

  [[nodiscard]] std::size_t n_vocab() const { return n_vocab_; }
  [[nodiscard]] std::size_t n_blocks() const { return block_max_.size(); }
  /// The model's largest logit of a block, legal or not.
  [[nodiscard]] float block_max(std::size_t block) const { return block_max_[block]; }
  /// The tokens of a block that are legal and have the model's own logit.
  [[nodiscard]] std::uint64_t unchanged(std::size_t block) const { return unchanged_[block]; }
  /// A block's logits: those of unchanged() tokens, -infinity for all others. `room` may be used.
  [[nodiscard]] Block block(std::size_t block, std::span<float, kBlock> room) const;
  /// The model's logit of a token.
  [[nodiscard]] float model_logit(std::size_t id) const { return logits_[id]; }

  /// The standard deviation of the model's finite logits, of which there is one.
  [[nodiscard]] double standard_deviation() const;

 private:
  /// `filling`: what stands behind the vocabulary's end.
  [[nodiscard]] Block model_block(std::size_t block, std::span<float, kBlock> room,
                                  float filling) const;
  [[nodiscard]] Status name_non_finite(std::int64_t position) const;

  std::size_t n_vocab_;
  std::span<const float> logits_;
  std::vector<Adjusted> adjusted_;
  std::vector<std::int32_t> slot_;  // [n_vocab] index in adjusted_, or -1
  std::vector<std::uint64_t> unchanged_;
  std::vector<float> block_max_;
};

}  // namespace minfer::sampling
