// The stages that change logits: bias, penalties, and what is not legal at all.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sampling/stage.h"

namespace minfer::sampling {
namespace {

/// A penalty makes nothing impossible, nor infinite.
float keep_finite(float logit) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  return std::clamp(logit, -kLargest, kLargest);
}

/// How many candidates will probably be looked at.
std::size_t expected(const SamplerOptions& options) {
  if (options.temp == 0.0F) return 1;
  return options.top_k > 0 ? static_cast<std::size_t>(options.top_k) : 128;
}

}  // namespace

Status stage_logit_bias(Step& step) {
  for (const LogitBias& bias : step.options.logit_bias) {
    step.row.adjust(bias.token).logit += bias.bias;
  }
  return ok_status();
}

Status stage_penalties(Step& step) {
  const SamplerOptions& options = step.options;
  if (options.repeat_penalty == 1.0F && options.frequency_penalty == 0.0F &&
      options.presence_penalty == 0.0F) {
    return ok_status();
  }
  const std::size_t window = std::min(step.history.size(), window_size(options.repeat_last_n));
  for (std::size_t i = 0; i < window; ++i) ++step.row.adjust(step.history.newest(i)).count;
  for (Row::Adjusted& each : step.row.adjusted()) {
    if (each.count == 0 || each.logit == kNever) continue;
    if (std::ranges::find(step.never_penalized, each.token) != step.never_penalized.end()) continue;
    float& logit = each.logit;
    logit = logit > 0 ? logit / options.repeat_penalty : logit * options.repeat_penalty;
    logit -= static_cast<float>(each.count) * options.frequency_penalty + options.presence_penalty;
    logit = keep_finite(logit);
  }
  return ok_status();
}

Status stage_mask(Step& step) {
  for (const TokenId token : step.banned) step.row.adjust(token).logit = kNever;
  Candidates& candidates = step.candidates;
  candidates.begin(step.row, expected(step.options));
  if (step.constraint != nullptr) {
    bool settled = false;
    if (step.options.temp == 0.0F && candidates.at(0) != nullptr) {
      // Nearly always the model's own choice is legal, and asking costs less than a mask.
      MINFER_ASSIGN_OR_RETURN(settled, step.constraint->allows(candidates.at(0)->token));
    }
    if (!settled) {
      MINFER_ASSIGN_OR_RETURN(const auto allowed, step.constraint->allowed());
      step.row.restrict_to(allowed);
      candidates.begin(step.row, expected(step.options));
    }
  }
  if (candidates.at(0) != nullptr) return ok_status();
  return numeric_error(fmt::format("no legal token at position {}", step.position));
}

}  // namespace minfer::sampling
