// The stages that cut candidates. Probabilities are at temperature 1, over what is left.
#include <algorithm>

#include "sampling/stage.h"

namespace minfer::sampling {

Status stage_top_k(Step& step) {
  if (step.options.top_k > 0) {
    step.candidates.keep_first(static_cast<std::size_t>(step.options.top_k));
  }
  return ok_status();
}

/// Meister et al., 2022, "Locally Typical Sampling": the tokens whose surprise is nearest to the
/// distribution's entropy, until they make up P. With logits l and z = ln(sum of exp(l)), a token's
/// surprise is z - l and the entropy z - E[l]: the distance is |l - E[l]|, and what is kept is one
/// stretch around the mean. Of two equally near ones the likelier comes first, then the lower id.
Status stage_typical(Step& step) {
  const double p = step.options.typical;
  if (p >= 1.0) return ok_status();
  Candidates& candidates = step.candidates;
  const double mean = candidates.mean_depth();
  const double wanted = p * static_cast<double>(candidates.total_weight());
  std::size_t begin = 0;
  while (candidates.at(begin) != nullptr && candidates.depth(begin) > mean) ++begin;
  std::size_t end = begin;
  Weight sum = 0;
  do {
    const bool more = candidates.at(end) != nullptr;
    const bool upper =
        begin > 0 && (!more || candidates.depth(begin - 1) - mean <= mean - candidates.depth(end));
    if (!upper && !more) break;
    const std::size_t next = upper ? --begin : end++;
    sum += candidates.weight(next);
  } while (static_cast<double>(sum) < wanted);
  candidates.keep_stretch(begin, end);
  return ok_status();
}

/// Holtzman et al., 2020, "The Curious Case of Neural Text Degeneration".
Status stage_top_p(Step& step) {
  const double p = step.options.top_p;
  if (p >= 1.0) return ok_status();
  Candidates& candidates = step.candidates;
  const double wanted = p * static_cast<double>(candidates.total_weight());
  Weight sum = 0;
  std::size_t n = 0;
  do {
    sum += candidates.weight(n++);
  } while (static_cast<double>(sum) < wanted && candidates.at(n) != nullptr);
  candidates.keep_first(n);
  return ok_status();
}

/// Nguyen et al., 2024, "Turning Up the Heat: Min-p Sampling".
Status stage_min_p(Step& step) {
  if (step.options.min_p <= 0.0F) return ok_status();
  const double least = static_cast<double>(step.options.min_p) * static_cast<double>(kUnitWeight);
  std::size_t n = 1;
  while (step.candidates.at(n) != nullptr &&
         static_cast<double>(step.candidates.weight(n)) >= least) {
    ++n;
  }
  step.candidates.keep_first(n);
  return ok_status();
}

/// Tang et al., 2024, "Top-n sigma: Not All Logits Are You Need". The standard deviation is that of
/// the model's logits for the whole vocabulary: it tells how far the noise reaches, whatever the
/// stages before have left.
Status stage_top_n_sigma(Step& step) {
  if (step.options.top_n_sigma <= 0.0F) return ok_status();
  const double deepest =
      -static_cast<double>(step.options.top_n_sigma) * step.row.standard_deviation();
  std::size_t n = 1;
  while (step.candidates.at(n) != nullptr && step.candidates.depth(n) >= deepest) ++n;
  step.candidates.keep_first(n);
  return ok_status();
}

/// XTC ("Exclude Top Choices", p-e-w, 2024): where several tokens reach the threshold, all but the
/// least likely of them are left out, by a coin that is thrown for each token.
Status stage_xtc(Step& step) {
  const SamplerOptions& options = step.options;
  if (!(step.draws.coin < static_cast<double>(options.xtc_probability))) return ok_status();
  Candidates& candidates = step.candidates;
  const double least =
      static_cast<double>(options.xtc_threshold) * static_cast<double>(candidates.total_weight());
  std::size_t n = 0;
  while (candidates.at(n) != nullptr && static_cast<double>(candidates.weight(n)) >= least) ++n;
  if (n > 1) candidates.drop_first(n - 1);
  return ok_status();
}

}  // namespace minfer::sampling
