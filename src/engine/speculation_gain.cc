#include "engine/speculation_gain.h"

#include <algorithm>

#include "base/status.h"

namespace minfer::engine {
namespace {

/// Rows of 4, 8, 16 and 32, with the token that leads a draft.
constexpr std::int32_t kLengths[] = {3, 7, 15, 31};

constexpr double kPriorWeight = 4;  // guesses that a prior counts for
constexpr double kMemory = 48;      // guesses that count at most
constexpr double kMostLikely = 0.99;

/// Cost of a further row before anything was measured, as a share of a plain step.
constexpr double kRowCost = 0.1;
/// Plain steps after which measured forwards are forgotten: the machine may be another one now.
constexpr std::int32_t kForget = 256;

constexpr double kGainToStart = 1.25;
constexpr double kGainToStay = 1.0;

constexpr double kAccountAtStart = 1.5;
constexpr double kAccountMost = 6;
constexpr double kAccountLeast = -2;
constexpr double kShareOfStep = 0.01;

}  // namespace

void RecentMedian::add(double value) {
  values_[next_ % kCapacity] = value;
  next_ = (next_ + 1) % kCapacity;
  size_ = std::min(size_ + 1, kCapacity);
  if (size_ == 1) {
    values_[0] = value;
    next_ = 1;
  }
}

double RecentMedian::value() const {
  if (size_ == 0) return 0;
  std::array<double, kCapacity> sorted = values_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((size_ - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(size_));
  return *middle;
}

double SpeculationGain::Trials::share() const {
  const double share = (right + prior * kPriorWeight) / (all + kPriorWeight);
  return std::clamp(share, 0.0, kMostLikely);
}

SpeculationGain::SpeculationGain(std::span<const double> priors, GainOptions options)
    : options_(options), account_(kAccountAtStart) {
  MINFER_CHECK(options.max_draft >= 1);
  for (const double prior : priors) trials_.push_back({.prior = prior});
  for (const std::int32_t n : kLengths) {
    if (n < options.max_draft) lengths_.push_back({n, {}});
  }
  lengths_.push_back({options.max_draft, {}});
}

double SpeculationGain::forward_seconds(std::int32_t rows) const {
  // The measured points around `rows`; a plain step is one of one row.
  double x = 1;
  double y = step_.value();
  double slope = kRowCost * y;
  for (const Length& length : lengths_) {
    if (length.verify.empty()) continue;
    const double next_x = length.n + 1;
    slope = (length.verify.value() - y) / (next_x - x);
    if (next_x >= rows) break;
    x = next_x;
    y = length.verify.value();
  }
  return y + std::max(slope, 0.0) * (rows - x);
}

double SpeculationGain::round_seconds(std::int32_t n) const {
  return forward_seconds(n + 1) + n * draft_.value();
}

std::int32_t SpeculationGain::choose(std::size_t grade, std::int32_t limit) {
  MINFER_CHECK(grade < trials_.size());
  const double step = step_.value();
  if (step_.empty()) return 0;
  const double p = trials_[grade].share();
  std::int32_t best = 0;
  double best_rate = 0;
  double tokens = 1;  // that a round of n drafted tokens is expected to yield
  double power = 1;
  std::int32_t n = 0;
  for (const Length& length : lengths_) {
    if (length.n > limit) break;
    for (; n < length.n; ++n) tokens += power *= p;
    const double seconds = round_seconds(length.n);
    // A clock that stands still tells nothing but that a longer draft costs more.
    const double rate = seconds > 0 ? tokens / seconds : (best == 0 ? 1.0 : 0.0);
    const bool bearable = options_.always_on || seconds - step <= account_ * step;
    if (bearable && rate > best_rate) {
      best = length.n;
      best_rate = rate;
    }
    // The time of a longer forward is a guess until this one's is known.
    if (length.verify.empty()) break;
  }
  if (options_.always_on) return best;
  on_ = step > 0 && best_rate * step >= (on_ ? kGainToStay : kGainToStart);
  return on_ ? best : 0;
}

void SpeculationGain::record_step(double seconds) {
  step_.add(std::max(seconds, 0.0));
  account_ = std::min(account_ + kShareOfStep, kAccountMost);
  if (++steps_since_round_ < kForget) return;
  steps_since_round_ = 0;
  for (Length& length : lengths_) length.verify.clear();
}

void SpeculationGain::record_round(const Round& round) {
  steps_since_round_ = 0;
  if (round.n_drafted < 1) return;
  draft_.add(std::max(round.draft_seconds, 0.0) / round.n_drafted);
  for (Length& length : lengths_) {
    if (length.n == round.n_drafted) length.verify.add(std::max(round.verify_seconds, 0.0));
  }
  const double step = step_.value();
  if (step <= 0) return;
  const double saved = round.n_accepted + 1 - round_seconds(round.n_drafted) / step;
  account_ = std::clamp(account_ + saved, kAccountLeast, kAccountMost);
}

void SpeculationGain::record_guess(std::size_t grade, std::int32_t n_right, bool missed) {
  MINFER_CHECK(grade < trials_.size());
  Trials& trials = trials_[grade];
  trials.right += n_right;
  trials.all += n_right + (missed ? 1 : 0);
  if (trials.all > kMemory) {
    trials.right *= kMemory / trials.all;
    trials.all = kMemory;
  }
}

}  // namespace minfer::engine
