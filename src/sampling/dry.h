// Dry: the DRY penalty ("Don't Repeat Yourself", p-e-w, 2024): a token that would go on with a
// repetition of the text's end is the less likely the longer the repetition is.
//
// Owns: where the newest sequence breaker ended, and scratch for one step.
// Invariants: linear in the window. Nothing is allocated after creation.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/history.h"
#include "sampling/row.h"
#include "sampling/sampler_options.h"
#include "sampling/sequence_breakers.h"

namespace minfer::sampling {

class Dry {
 public:
  /// Without `token_bytes` there are no sequence breakers.
  Dry(const SamplerOptions& options, TokenStrings token_bytes);

  /// Takes a token of the sequence.
  void add(TokenId token);
  void clear();

  /// Lowers the logits of tokens that would go on with a repetition, unless they are
  /// `never_penalized` or complete a sequence breaker.
  void apply(const SamplerOptions& options, const History& history,
             std::span<const TokenId> never_penalized, Row& row);

 private:
  void find_repeats(const History& history, std::size_t window);

  TokenStrings token_bytes_;
  SequenceBreakers breakers_;
  std::size_t since_breaker_ = 0;      // tokens behind the one in which the newest breaker ends
  std::vector<TokenId> newest_;        // the window, newest first
  std::vector<std::int32_t> repeats_;  // [window] common tokens of it and of it from here on
};

}  // namespace minfer::sampling
