#include "sampling/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sampling/random.h"

namespace minfer::sampling {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// exp(x) for x <= 0 in binary64 by range reduction and a Taylor polynomial, without libm, so that
/// every machine weighs the candidates alike. Below -700: 0.
double exp_nonpositive(double x) {
  if (!(x > -700.0)) return 0.0;
  constexpr double kLog2e = 1.4426950408889634;
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const auto n = static_cast<int>(x * kLog2e - 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0;
  for (int k = 13; k >= 1; --k) sum = 1.0 + sum * r / k;
  return std::ldexp(sum, n);
}

Status check_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return ok_status();
  return invalid_argument(
      fmt::format("{} is {}: it must be between {} and {}", name, value, low, high));
}

Status check_options(const SamplerOptions& options, std::int64_t n_vocab) {
  MINFER_RETURN_IF_ERROR(check_range("temp", options.temp, 0, 100));
  MINFER_RETURN_IF_ERROR(check_range("top-k", options.top_k, 0, 1e9));
  MINFER_RETURN_IF_ERROR(check_range("top-p", options.top_p, 0, 1));
  MINFER_RETURN_IF_ERROR(check_range("min-p", options.min_p, 0, 1));
  MINFER_RETURN_IF_ERROR(check_range("repeat-penalty", options.repeat_penalty, 0.01, 100));
  MINFER_RETURN_IF_ERROR(check_range("repeat-last-n", options.repeat_last_n, 0, 1 << 20));
  MINFER_RETURN_IF_ERROR(check_range("frequency-penalty", options.frequency_penalty, -100, 100));
  MINFER_RETURN_IF_ERROR(check_range("presence-penalty", options.presence_penalty, -100, 100));
  for (const LogitBias& bias : options.logit_bias) {
    if (bias.token < 0 || bias.token >= n_vocab) {
      return invalid_argument(fmt::format(
          "logit-bias: token {} is not in the vocabulary of {} tokens", bias.token, n_vocab));
    }
    if (std::isnan(bias.bias)) {
      return invalid_argument(
          fmt::format("logit-bias: the bias of token {} is not a number", bias.token));
    }
  }
  return ok_status();
}

Status no_legal_token(std::int64_t position) {
  return numeric_error(fmt::format("no legal token at position {}", position));
}

}  // namespace

void SamplerOptions::set_greedy() {
  temp = 0.0F;
  repeat_penalty = 1.0F;
  frequency_penalty = 0.0F;
  presence_penalty = 0.0F;
}

Result<Sampler> Sampler::create(const SamplerOptions& options, std::int64_t n_vocab,
                                std::span<const TokenId> never_penalized) {
  MINFER_RETURN_IF_ERROR(check_options(options, n_vocab));
  return Sampler(options, n_vocab, never_penalized);
}

Sampler::Sampler(SamplerOptions options, std::int64_t n_vocab,
                 std::span<const TokenId> never_penalized)
    : options_(std::move(options)),
      n_vocab_(n_vocab),
      never_penalized_(never_penalized.begin(), never_penalized.end()) {
  window_.resize(static_cast<std::size_t>(options_.repeat_last_n));
  const std::size_t n_adjusted =
      window_.size() + options_.logit_bias.size() + never_penalized_.size();
  adjusted_.reserve(n_adjusted);
  const auto everything = static_cast<std::size_t>(n_vocab);
  std::size_t limit = everything;
  if (options_.temp == 0.0F) {
    limit = 1;
  } else if (options_.top_k > 0) {
    limit = static_cast<std::size_t>(options_.top_k);
  }
  // One more than the heap holds, for the candidate that pushes the last one out.
  candidates_.reserve(std::min(everything, limit + n_adjusted) + n_adjusted + 1);
}

bool Sampler::before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

Status Sampler::accept(TokenId token) {
  remember(token);
  return constraint_ != nullptr ? constraint_->accept(token) : ok_status();
}

void Sampler::remember(TokenId token) {
  if (window_.empty()) return;
  window_[window_next_] = token;
  window_next_ = (window_next_ + 1) % window_.size();
  window_size_ = std::min(window_size_ + 1, window_.size());
}

void Sampler::seed_window(std::span<const TokenId> tokens) {
  window_next_ = 0;
  window_size_ = 0;
  const std::size_t n = std::min(tokens.size(), window_.size());
  for (TokenId token : tokens.last(n)) remember(token);
}

Status Sampler::scan(std::span<const float> logits, std::int64_t position) const {
  // One pass without branches over the bit patterns: only NaN and the infinities reach the limit.
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  std::uint32_t largest = 0;
  for (float logit : logits) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(logit) & 0x7FFFFFFFU);
  }
  if (largest < kInfinity) return ok_status();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id]) || logits[id] == std::numeric_limits<float>::infinity()) {
      return numeric_error(fmt::format(
          "non-finite logits at position {} (token {} is {}): the model's weights are damaged or "
          "overflow; try --check-tensors",
          position, id, logits[id]));
    }
  }
  return ok_status();
}

void Sampler::adjust(std::span<const float> logits, std::span<const TokenId> banned) {
  adjusted_.clear();
  const auto entry = [&](TokenId token) -> Adjusted& {
    const auto at =
        std::lower_bound(adjusted_.begin(), adjusted_.end(), token,
                         [](const Adjusted& a, TokenId wanted) { return a.token < wanted; });
    if (at != adjusted_.end() && at->token == token) return *at;
    return *adjusted_.insert(at, {token, logits[static_cast<std::size_t>(token)]});
  };
  for (const LogitBias& bias : options_.logit_bias) entry(bias.token).logit += bias.bias;
  const bool penalize = options_.repeat_penalty != 1.0F || options_.frequency_penalty != 0.0F ||
                        options_.presence_penalty != 0.0F;
  if (penalize) {
    for (std::size_t i = 0; i < window_size_; ++i) {
      const TokenId token = window_[i];
      if (std::find(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(i), token) !=
          window_.begin() + static_cast<std::ptrdiff_t>(i)) {
        continue;  // counted at its first place
      }
      if (std::find(never_penalized_.begin(), never_penalized_.end(), token) !=
          never_penalized_.end()) {
        continue;
      }
      const auto count =
          std::count(window_.begin() + static_cast<std::ptrdiff_t>(i),
                     window_.begin() + static_cast<std::ptrdiff_t>(window_size_), token);
      float& logit = entry(token).logit;
      logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
      logit -= static_cast<float>(count) * options_.frequency_penalty + options_.presence_penalty;
    }
  }
  for (TokenId token : banned) entry(token).logit = kNever;
}

void Sampler::collect(std::span<const float> logits, std::size_t limit,
                      std::span<const std::uint64_t> allowed) {
  const auto legal = [allowed](std::size_t id) {
    return allowed.empty() || ((allowed[id / 64] >> (id % 64)) & 1) != 0;
  };
  candidates_.clear();
  // The largest `limit` raw logits beside the adjusted tokens, which are added whatever they are.
  const std::size_t want = std::min(logits.size(), limit + adjusted_.size());
  if (want == logits.size()) {
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (legal(id)) candidates_.push_back({logits[id], static_cast<TokenId>(id), 0.0});
    }
  } else {
    float least = kNever;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (!(logits[id] > least) || !legal(id)) continue;
      candidates_.push_back({logits[id], static_cast<TokenId>(id), 0.0});
      std::push_heap(candidates_.begin(), candidates_.end(), before);
      if (candidates_.size() > want) {
        std::pop_heap(candidates_.begin(), candidates_.end(), before);
        candidates_.pop_back();
      }
      if (candidates_.size() == want) least = candidates_.front().logit;
    }
  }
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    return std::binary_search(
        adjusted_.begin(), adjusted_.end(), Adjusted{candidate.token, 0.0F},
        [](const Adjusted& a, const Adjusted& b) { return a.token < b.token; });
  });
  for (const Adjusted& adjusted : adjusted_) {
    if (legal(static_cast<std::size_t>(adjusted.token))) {
      candidates_.push_back({adjusted.logit, adjusted.token, 0.0});
    }
  }
  std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.logit == kNever; });
  const std::size_t keep = std::min(limit, candidates_.size());
  if (keep < candidates_.size() || want < logits.size()) {
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(keep),
                      candidates_.end(), before);
    candidates_.resize(keep);
  } else {
    std::sort(candidates_.begin(), candidates_.end(), before);
  }
}

void Sampler::keep_top_p(double total) {
  double sum = 0.0;
  std::size_t keep = 0;
  while (keep < candidates_.size()) {
    sum += candidates_[keep++].weight;
    if (sum >= static_cast<double>(options_.top_p) * total) break;
  }
  candidates_.resize(keep);
}

TokenId Sampler::draw(std::int64_t position) const {
  const double temperature = options_.temp;
  const double largest = candidates_.front().logit;
  double total = 0.0;
  for (const Candidate& candidate : candidates_) {
    total += exp_nonpositive((candidate.logit - largest) / temperature);
  }
  const double target =
      uniform_draw(options_.seed, options_.attempt, static_cast<std::uint64_t>(position)) * total;
  double sum = 0.0;
  for (const Candidate& candidate : candidates_) {
    sum += exp_nonpositive((candidate.logit - largest) / temperature);
    if (sum > target) return candidate.token;
  }
  return candidates_.back().token;
}

Result<TokenId> Sampler::best(std::span<const float> logits, std::int64_t position) {
  collect(logits, 1, {});
  if (!candidates_.empty() && constraint_ != nullptr) {
    // Nearly always the model's own choice is legal, and asking costs less than a mask.
    MINFER_ASSIGN_OR_RETURN(const bool legal, constraint_->allows(candidates_.front().token));
    if (!legal) {
      MINFER_ASSIGN_OR_RETURN(const auto allowed, constraint_->allowed());
      collect(logits, 1, allowed);
    }
  }
  if (candidates_.empty()) return no_legal_token(position);
  return candidates_.front().token;
}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::int64_t position,
                                std::span<const TokenId> banned) {
  MINFER_CHECK(static_cast<std::int64_t>(logits.size()) == n_vocab_);
  MINFER_RETURN_IF_ERROR(scan(logits, position));
  adjust(logits, banned);
  if (options_.temp == 0.0F) return best(logits, position);
  std::span<const std::uint64_t> allowed;
  if (constraint_ != nullptr) {
    MINFER_ASSIGN_OR_RETURN(allowed, constraint_->allowed());
  }
  collect(logits, options_.top_k > 0 ? static_cast<std::size_t>(options_.top_k) : logits.size(),
          allowed);
  if (candidates_.empty()) return no_legal_token(position);

  const double largest = candidates_.front().logit;
  double total = 0.0;
  for (Candidate& candidate : candidates_) {
    candidate.weight = exp_nonpositive(candidate.logit - largest);
    total += candidate.weight;
  }
  if (options_.top_p < 1.0F) keep_top_p(total);
  if (options_.min_p > 0.0F) {
    const auto end = std::find_if(candidates_.begin() + 1, candidates_.end(), [&](const auto& c) {
      return c.weight < static_cast<double>(options_.min_p);
    });
    candidates_.erase(end, candidates_.end());
  }
  return draw(position);
}

}  // namespace minfer::sampling
