// Draft: guesses how a sequence goes on, for a model to check many tokens in one forward.
//
// A draft only guesses: whatever it says, the text is the same. It draws nothing from the run's
// random numbers.
// Thread-safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/logits_source.h"

namespace minfer::engine {

class Draft {
 public:
  virtual ~Draft() = default;

  /// By grade: how likely a guessed token is right before anything was seen of this run, 0..1.
  [[nodiscard]] virtual std::span<const double> priors() const = 0;

  /// Another sequence begins: what was observed so far is not of it.
  virtual void restart() = 0;
  /// `history` is the sequence now: what it was at the last call and more tokens, or, after a
  /// failure, only a beginning of that.
  virtual Status observe(std::span<const TokenId> history) = 0;
  /// The grade of the guess that propose() would make: an index of priors(). Nothing: no guess.
  virtual std::optional<std::size_t> grade() = 0;
  /// Replaces `out` by at most n >= 1 tokens, the first of which may follow `history`, the one that
  /// observe() got last.
  virtual Status propose(std::span<const TokenId> history, std::size_t n,
                         std::vector<TokenId>& out) = 0;
};

}  // namespace minfer::engine
