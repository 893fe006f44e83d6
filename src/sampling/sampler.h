// Sampler: from the logits of one row to one token.
//
// Owns: the options, the penalty window, and scratch sized once for the vocabulary.
// The chain, in order: logit bias, penalties, the constraint's mask, greedy if the temperature is
// 0, top-k, top-p, min-p, temperature, one draw. The stages work on the few candidates that can
// survive, never on a copy of the logits; candidates are ordered by falling logit, ties by rising
// id, so the result does not depend on the vocabulary's layout in memory or on libm (the
// exponential is our own, in binary64). Invariants: sample() allocates nothing. Exactly one random
// number is used per drawn token, and it depends on (seed, attempt, position) alone. Thread-safety:
// one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "sampling/constraint.h"
#include "sampling/token_id.h"

namespace minfer::sampling {

struct LogitBias {
  TokenId token = 0;
  float bias = 0.0F;
};

struct SamplerOptions {
  float temp = 0.8F;                // 0: greedy
  std::int32_t top_k = 40;          // 0: off
  float top_p = 0.95F;              // 1: off
  float min_p = 0.0F;               // 0: off
  float repeat_penalty = 1.0F;      // 1: off; Keskar et al., 2019, "CTRL"
  std::int32_t repeat_last_n = 64;  // size of the penalty window; 0: off
  float frequency_penalty = 0.0F;
  float presence_penalty = 0.0F;
  std::uint64_t seed = 42;
  std::uint32_t attempt = 0;  // the choice's index, or how often the reply was drawn again
  std::vector<LogitBias> logit_bias;

  /// Greedy, all penalties off.
  void set_greedy();
};

class Sampler {
 public:
  /// `never_penalized`: the end-of-generation tokens. Errors: an option out of range (named), a
  /// bias for an id outside the vocabulary.
  static Result<Sampler> create(const SamplerOptions& options, std::int64_t n_vocab,
                                std::span<const TokenId> never_penalized);

  /// The token for `position` (the position it will take in the sequence). `banned` tokens cannot
  /// be chosen (end of generation under --ignore-eos). kNumeric: a logit is NaN or +infinity (named
  /// by position and id), or no token is legal. Other errors: the constraint's.
  Result<TokenId> sample(std::span<const float> logits, std::int64_t position,
                         std::span<const TokenId> banned);

  /// Adds a token to the penalty window, and hands it to the constraint. Errors: the constraint's.
  Status accept(TokenId token);
  /// Empties the window and fills it with the tail of `tokens`; the constraint is not told.
  void seed_window(std::span<const TokenId> tokens);

  /// What the next tokens must obey, or null for nothing. Not owned: it must outlive its use here.
  /// The sampler calls allows(), allowed() and accept() alone.
  void set_constraint(Constraint* constraint) { constraint_ = constraint; }

  [[nodiscard]] const SamplerOptions& options() const { return options_; }

 private:
  struct Candidate {
    float logit;
    TokenId token;
    double weight;  // exp(logit - the largest), before temperature
  };
  struct Adjusted {
    TokenId token;
    float logit;
  };

  Sampler(SamplerOptions options, std::int64_t n_vocab, std::span<const TokenId> never_penalized);

  static bool before(const Candidate& a, const Candidate& b);
  Status scan(std::span<const float> logits, std::int64_t position) const;
  void adjust(std::span<const float> logits, std::span<const TokenId> banned);
  /// `allowed`: the constraint's bits, or nothing where every token may come.
  void collect(std::span<const float> logits, std::size_t limit,
               std::span<const std::uint64_t> allowed);
  Result<TokenId> best(std::span<const float> logits, std::int64_t position);
  void remember(TokenId token);
  void keep_top_p(double total);
  [[nodiscard]] TokenId draw(std::int64_t position) const;

  SamplerOptions options_;
  std::int64_t n_vocab_;
  Constraint* constraint_ = nullptr;
  std::vector<TokenId> never_penalized_;
  std::vector<TokenId> window_;  // ring of repeat_last_n tokens
  std::size_t window_next_ = 0;
  std::size_t window_size_ = 0;
  std::vector<Adjusted> adjusted_;     // sorted by token; logits after bias, penalties and bans
  std::vector<Candidate> candidates_;  // in order after collect()
};

}  // namespace minfer::sampling
