// The stages that choose: greedy, mirostat, and a draw at the temperature.
#include <algorithm>
#include <cmath>

#include "sampling/stage.h"

namespace minfer::sampling {
namespace {

constexpr double kLn2 = 0.69314718055994531;

/// The candidate that the draw means at temperature 1 / scale.
Candidate draw(Step& step, double scale) {
  const Weight total = step.candidates.total_weight(scale);
  const auto target = static_cast<Weight>(step.draws.token * static_cast<double>(total));
  return step.candidates.pick(std::min(target, total - 1), scale);
}

/// How many tokens have a surprise of at most mu bits under Zipf's law with the exponent that the
/// candidates show (Basu et al., 2021, algorithm 1 and equation 30).
std::size_t zipf_cut(Step& step) {
  constexpr std::size_t kTokens = 100;
  double products = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i + 1 < kTokens && step.candidates.at(i + 1) != nullptr; ++i) {
    const auto rank = static_cast<double>(i + 1);
    const double t = natural_logarithm((rank + 1.0) / rank);
    products += t * (step.candidates.depth(i) - step.candidates.depth(i + 1));
    squares += t * t;
  }
  if (squares == 0.0) return 1;
  const double exponent = std::max(products / squares, 1e-6);
  const double epsilon = exponent - 1.0;
  const double log_n = natural_logarithm(static_cast<double>(step.row.n_vocab()));
  // epsilon / (1 - n^-epsilon), which is 1 / ln(n) where epsilon is 0
  const double power = std::clamp(-epsilon * log_n, -700.0, 700.0);
  const double ratio =
      std::abs(epsilon) < 1e-9 ? 1.0 / log_n : epsilon / (1.0 - exponential(power));
  const double log_k = (natural_logarithm(ratio) + step.mu * kLn2) / exponent;
  if (!(log_k < log_n)) return step.row.n_vocab();
  return log_k > 0.0 ? static_cast<std::size_t>(exponential(log_k)) : 1;
}

}  // namespace

Status stage_greedy(Step& step) {
  if (step.options.temp == 0.0F) step.chosen = step.candidates.at(0)->token;
  return ok_status();
}

/// Basu et al., 2021, "Mirostat": cuts so that the surprise stays near tau, draws at temperature 1,
/// and corrects mu by how far the drawn token's surprise was off. The surprise is that under the
/// distribution before the cut, as in the paper. Version 1 guesses the cut from Zipf's law, version
/// 2 cuts what is more surprising than mu.
Status stage_mirostat(Step& step) {
  const SamplerOptions& options = step.options;
  if (options.mirostat == 0) return ok_status();
  Candidates& candidates = step.candidates;
  const double log_total = natural_logarithm(static_cast<double>(candidates.total_weight()) /
                                             static_cast<double>(kUnitWeight));
  const double largest = candidates.at(0)->logit;
  const auto surprise = [&](const Candidate& candidate) {
    return (log_total - (static_cast<double>(candidate.logit) - largest)) / kLn2;
  };
  std::size_t n = 1;
  if (options.mirostat == 1) {
    n = zipf_cut(step);
  } else {
    while (candidates.at(n) != nullptr && surprise(*candidates.at(n)) <= step.mu) ++n;
  }
  candidates.keep_first(n);
  const Candidate drawn = draw(step, 1.0);
  step.mu -= static_cast<double>(options.mirostat_eta) *
             (surprise(drawn) - static_cast<double>(options.mirostat_tau));
  step.chosen = drawn.token;
  return ok_status();
}

Status stage_temperature(Step& step) {
  step.chosen = draw(step, 1.0 / static_cast<double>(step.options.temp)).token;
  return ok_status();
}

}  // namespace minfer::sampling
