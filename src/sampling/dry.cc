#include "sampling/dry.h"

#include <algorithm>

#include "sampling/stage.h"
#include "sampling/weight.h"

namespace minfer::sampling {

Dry::Dry(const SamplerOptions& options, TokenStrings token_bytes)
    : token_bytes_(std::move(token_bytes)), breakers_(options.dry_sequence_breakers) {
  if (options.dry_multiplier == 0.0F) return;
  newest_.reserve(window_size(options.dry_penalty_last_n));
  repeats_.reserve(window_size(options.dry_penalty_last_n));
}

void Dry::add(TokenId token) {
  const auto id = static_cast<std::size_t>(token);
  const bool breaks = token_bytes_ != nullptr && breakers_.feed((*token_bytes_)[id]);
  since_breaker_ = breaks ? 0 : since_breaker_ + 1;
}

void Dry::clear() {
  breakers_.clear();
  since_breaker_ = 0;
}

void Dry::find_repeats(const History& history, std::size_t window) {
  newest_.clear();
  for (std::size_t i = 0; i < window; ++i) newest_.push_back(history.newest(i));
  // The Z-algorithm (Gusfield, 1997, 1.4): [start, end) is the match that reaches furthest.
  repeats_.assign(window, 0);
  std::size_t start = 0;
  std::size_t end = 0;
  for (std::size_t i = 1; i < window; ++i) {
    std::size_t n = 0;
    if (i < end) n = std::min(end - i, static_cast<std::size_t>(repeats_[i - start]));
    while (i + n < window && newest_[n] == newest_[i + n]) ++n;
    repeats_[i] = static_cast<std::int32_t>(n);
    if (i + n <= end) continue;
    start = i;
    end = i + n;
  }
}

void Dry::apply(const SamplerOptions& options, const History& history,
                std::span<const TokenId> never_penalized, Row& row) {
  const std::size_t window = std::min(history.size(), window_size(options.dry_penalty_last_n));
  const auto limit = static_cast<std::int32_t>(std::min(since_breaker_, window));
  if (limit < options.dry_allowed_length) return;
  find_repeats(history, window);
  for (std::size_t i = 1; i < window; ++i) {
    const std::int32_t length = std::min(repeats_[i], limit);
    if (length < options.dry_allowed_length) continue;
    // What followed there would go on with the repetition here.
    Row::Adjusted& next = row.adjust(newest_[i - 1]);
    next.repeat = std::max(next.repeat, length);
  }
  const double growth = natural_logarithm(options.dry_base);
  constexpr double kLargest = 69.0;  // e^69 = 10^30: no logit becomes infinite
  for (Row::Adjusted& each : row.adjusted()) {
    if (each.repeat == 0 || std::ranges::find(never_penalized, each.token) != never_penalized.end())
      continue;
    const auto id = static_cast<std::size_t>(each.token);
    if (token_bytes_ != nullptr && breakers_.would_end_in((*token_bytes_)[id])) continue;
    const double more = each.repeat - options.dry_allowed_length;
    const double penalty = options.dry_multiplier * exponential(std::min(more * growth, kLargest));
    each.logit = static_cast<float>(each.logit - penalty);
  }
}

Status stage_dry(Step& step) {
  if (step.options.dry_multiplier > 0.0F) {
    step.dry.apply(step.options, step.history, step.never_penalized, step.row);
  }
  return ok_status();
}

}  // namespace minfer::sampling
