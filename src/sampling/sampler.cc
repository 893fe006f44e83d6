#include "sampling/sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "sampling/stage.h"

namespace minfer::sampling {
namespace {

// Sums of weights fit as many.
constexpr std::int64_t kMaxVocab = 1 << 19;

constexpr Stage kStages[] = {
#define MINFER_STAGE(name) {#name, stage_##name},
#include "sampling/stages.def"
#undef MINFER_STAGE
};

std::size_t history_size(const SamplerOptions& options) {
  const std::size_t dry =
      options.dry_multiplier > 0.0F ? window_size(options.dry_penalty_last_n) : 0;
  return std::max(window_size(options.repeat_last_n), dry);
}

std::size_t n_adjusted(const SamplerOptions& options, std::size_t n_banned) {
  return history_size(options) + options.logit_bias.size() + n_banned;
}

}  // namespace

std::span<const Stage> stages() { return kStages; }

Result<Sampler> Sampler::create(const SamplerOptions& options, std::int64_t n_vocab,
                                std::span<const TokenId> never_penalized,
                                TokenStrings token_bytes) {
  MINFER_CHECK(token_bytes == nullptr || std::ssize(*token_bytes) == n_vocab);
  MINFER_RETURN_IF_ERROR(options.check(n_vocab));
  if (n_vocab < 1 || n_vocab > kMaxVocab) {
    return unsupported(
        fmt::format("a vocabulary of {} tokens: drawing takes 1 to {}", n_vocab, kMaxVocab));
  }
  return Sampler(options, static_cast<std::size_t>(n_vocab), never_penalized,
                 std::move(token_bytes));
}

Sampler::Sampler(SamplerOptions options, std::size_t n_vocab,
                 std::span<const TokenId> never_penalized, TokenStrings token_bytes)
    : options_(std::move(options)),
      never_penalized_(never_penalized.begin(), never_penalized.end()),
      history_(history_size(options_)),
      dry_(options_, std::move(token_bytes)),
      mu_(2.0 * static_cast<double>(options_.mirostat_tau)),
      row_(n_vocab, n_adjusted(options_, never_penalized_.size())),
      candidates_(n_vocab, n_adjusted(options_, never_penalized_.size())) {}

Status Sampler::accept(TokenId token) {
  remember(token);
  return constraint_ != nullptr ? constraint_->accept(token) : ok_status();
}

void Sampler::remember(TokenId token) {
  history_.add(token);
  if (options_.dry_multiplier > 0.0F) dry_.add(token);
}

void Sampler::seed_window(std::span<const TokenId> tokens) {
  history_.clear();
  dry_.clear();
  for (TokenId token : tokens.last(std::min(tokens.size(), history_.capacity()))) remember(token);
}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::int64_t position,
                                std::span<const TokenId> banned) {
  MINFER_RETURN_IF_ERROR(row_.set(logits, position));
  Step step{
      .options = options_,
      .banned = banned,
      .never_penalized = never_penalized_,
      .position = position,
      .draws = draws_at(options_.seed, options_.attempt, static_cast<std::uint64_t>(position)),
      .history = history_,
      .constraint = constraint_,
      .row = row_,
      .dry = dry_,
      .candidates = candidates_,
      .mu = mu_,
      .chosen = {},
  };
  for (const Stage& stage : kStages) {
    MINFER_RETURN_IF_ERROR(stage.run(step));
    if (step.chosen) break;
  }
  return *step.chosen;
}

}  // namespace minfer::sampling
