// Sampler: from the logits of one row to one token.
//
// Owns: the options, the newest tokens for the penalties, mirostat's mu, and scratch sized once for
// the vocabulary. The chain is the table of stages.def. Up to the mask, stages change the logits of
// single tokens; behind it they cut the candidates, which are ordered by falling logit, ties by
// rising id, so that a draw depends neither on the vocabulary's layout nor on libm.
// Invariants: sample() allocates nothing. What it draws depends on (seed, attempt, position), the
// accepted tokens and mu alone.
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "sampling/candidates.h"
#include "sampling/constraint.h"
#include "sampling/dry.h"
#include "sampling/history.h"
#include "sampling/row.h"
#include "sampling/sampler_options.h"
#include "sampling/token_id.h"

namespace minfer::sampling {

class Sampler {
 public:
  /// `never_penalized`: the end-of-generation tokens. `token_bytes`: for DRY's
  /// sequence breakers; null: there are none. Errors: those of SamplerOptions::check(), a
  /// vocabulary above 524,288 tokens.
  static Result<Sampler> create(const SamplerOptions& options, std::int64_t n_vocab,
                                std::span<const TokenId> never_penalized,
                                TokenStrings token_bytes = nullptr);

  /// The token for `position` (the position it will take in the sequence). `banned` tokens cannot
  /// be chosen (end of generation under --ignore-eos). kNumeric: a logit is NaN or +infinity (named
  /// by position and id), or no token is legal. Other errors: the constraint's.
  Result<TokenId> sample(std::span<const float> logits, std::int64_t position,
                         std::span<const TokenId> banned);

  /// Adds a token to the penalties' window, and hands it to the constraint. Errors: the
  /// constraint's.
  Status accept(TokenId token);
  /// Empties the window and fills it with the tail of `tokens`; the constraint is not told.
  void seed_window(std::span<const TokenId> tokens);

  /// What the next tokens must obey, or null for nothing. Not owned: it must outlive its use here.
  /// The sampler calls allows(), allowed() and accept() alone.
  void set_constraint(Constraint* constraint) { constraint_ = constraint; }
  /// The same, kept as long as the sampler and its copies.
  void own_constraint(std::shared_ptr<Constraint> constraint) {
    owned_constraint_ = std::move(constraint);
    constraint_ = owned_constraint_.get();
  }

  [[nodiscard]] const Constraint* constraint() const { return constraint_; }

  /// Mirostat's state, in bits: all that a later token depends on beside the accepted tokens.
  [[nodiscard]] double mu() const { return mu_; }
  void set_mu(double mu) { mu_ = mu; }

  [[nodiscard]] const SamplerOptions& options() const { return options_; }

 private:
  Sampler(SamplerOptions options, std::size_t n_vocab, std::span<const TokenId> never_penalized,
          TokenStrings token_bytes);
  void remember(TokenId token);

  SamplerOptions options_;
  std::vector<TokenId> never_penalized_;
  Constraint* constraint_ = nullptr;
  std::shared_ptr<Constraint> owned_constraint_;
  History history_;
  Dry dry_;
  double mu_;
  Row row_;
  Candidates candidates_;
};

}  // namespace minfer::sampling
