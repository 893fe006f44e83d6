#include "sampling/candidates.h"

#include <array>
#include <bit>

namespace minfer::sampling {
namespace {

// An object, so that sorting calls no function.
constexpr auto kBefore = [](const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
};

// Stretches of the order that pick_deep() tells apart.
constexpr std::size_t kDepths = 4096;

}  // namespace

Candidates::Candidates(std::size_t n_vocab, std::size_t n_adjusted) {
  ranked_.reserve(n_vocab + std::min(n_vocab, n_adjusted));
  by_depth_.resize(kDepths);
}

void Candidates::begin(const Row& row, std::size_t n_expected) {
  row_ = &row;
  n_expected_ = n_expected;
  ranked_.clear();
  all_ranked_ = false;
  first_ = 0;
  left_ = kAll;
  total_scale_ = 0.0;
}

void Candidates::rank(std::size_t n) {
  constexpr std::size_t kGrowth = 8;
  if (all_ranked_) return;
  const std::size_t wanted = ranked_.empty() ? std::max(n, n_expected_) : n * kGrowth;
  collect(std::min(wanted, row_->n_vocab()));
}

void Candidates::collect(std::size_t limit) {
  // Twice as many as are wanted are gathered before the lower half is thrown out, so that a pass
  // costs little more than reading the row.
  const bool all = limit >= row_->n_vocab() / 2;
  const std::size_t room = all ? SIZE_MAX : 2 * limit;
  const auto cut = [this, limit] {
    const auto middle = ranked_.begin() + static_cast<std::ptrdiff_t>(limit) - 1;
    std::nth_element(ranked_.begin(), middle, ranked_.end(), kBefore);
    ranked_.resize(limit);
  };
  ranked_.clear();
  float least = kNever;
  for (std::size_t block = 0; block < row_->n_blocks(); ++block) {
    if (!(row_->block_max(block) > least)) continue;
    for (std::uint64_t bits = row_->unchanged(block); bits != 0; bits &= bits - 1) {
      const std::size_t id = block * kBlock + static_cast<std::size_t>(std::countr_zero(bits));
      const float logit = row_->model_logit(id);
      if (!(logit > least)) continue;
      ranked_.push_back({logit, static_cast<TokenId>(id)});
      if (ranked_.size() < room) continue;
      cut();
      least = ranked_.back().logit;
    }
  }
  for (const Row::Adjusted& each : row_->adjusted()) {
    if (each.logit > kNever) ranked_.push_back({each.logit, each.token});
  }
  all_ranked_ = all;
  if (!all) {
    all_ranked_ = least == kNever && ranked_.size() <= limit;
    if (ranked_.size() > limit) cut();
  }
  std::sort(ranked_.begin(), ranked_.end(), kBefore);
}

void Candidates::keep_stretch(std::size_t begin, std::size_t end) {
  const auto from = ranked_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto kept = from + static_cast<std::ptrdiff_t>(begin);
  const auto as_likely = [logit = kept->logit](const Candidate& c) { return c.logit == logit; };
  const auto ties = std::find_if(from, kept, as_likely);
  const auto ties_end = std::find_if_not(kept, from + static_cast<std::ptrdiff_t>(end), as_likely);
  std::rotate(ties, ties + (ties_end - kept), ties_end);
  keep_first(end);
  drop_first(begin);
}

template <class OfBlock, class OfDepth>
Weight Candidates::sum(double scale, const OfBlock& of_block, const OfDepth& of_depth) {
  const Candidate* first = at(0);
  if (first == nullptr) return 0;
  const double largest = first->logit;
  const auto of = [&](float logit) { return of_depth(static_cast<double>(logit) - largest); };
  Weight sum = 0;
  if (left_ != kAll || all_ranked_) {
    for (std::size_t i = 0; at(i) != nullptr; ++i) sum += of(at(i)->logit);
    return sum;
  }
  std::array<float, kBlock> room;
  for (std::size_t block = 0; block < row_->n_blocks(); ++block) {
    const double above = static_cast<double>(row_->block_max(block)) - largest;
    if (row_->unchanged(block) == 0 || above * scale < kWeightless) continue;
    sum += of_block(row_->block(block, room), largest);
  }
  for (const Row::Adjusted& each : row_->adjusted()) {
    if (each.logit > kNever) sum += of(each.logit);
  }
  // Sums of whole numbers: taking the dropped ones out leaves exactly the rest.
  for (std::size_t i = 0; i < first_; ++i) sum -= of(ranked_[i].logit);
  return sum;
}

Weight Candidates::total_weight(double scale) {
  if (total_scale_ != scale) {
    total_ = sum(
        scale,
        [scale](Block block, double largest) { return sum_of_weights(block, largest, scale); },
        [scale](double depth) { return weight_of(depth * scale); });
    total_scale_ = scale;
  }
  return total_;
}

Candidate Candidates::pick(Weight target, double scale) {
  Weight sum = 0;
  for (std::size_t i = 0;; ++i) {
    // What nothing has ranked or bounded may be most of the row.
    if (left_ == kAll && !all_ranked_ && first_ + i == ranked_.size()) break;
    const Candidate* candidate = at(i);
    sum += weight(i, scale);
    if (sum > target) return *candidate;
  }
  return pick_deep(target, scale);
}

Candidate Candidates::pick_deep(Weight target, double scale) {
  // Without sorting the row: what its tokens weigh by how deep they lie, and then the tokens of the
  // one stretch that the target falls into.
  const double largest = at(0)->logit;
  const double per_unit = static_cast<double>(kDepths) * scale / -kWeightless;
  const auto depth_index = [&](float logit) {
    const double depth = (largest - static_cast<double>(logit)) * per_unit;
    return static_cast<std::size_t>(std::clamp(depth, 0.0, static_cast<double>(kDepths - 1)));
  };
  const auto weight_here = [&](float logit) {
    return weight_of((static_cast<double>(logit) - largest) * scale);
  };
  // The dropped ones stand before the others here.
  for (std::size_t i = 0; i < first_; ++i) target += weight_here(ranked_[i].logit);

  std::ranges::fill(by_depth_, Weight{0});
  std::array<float, kBlock> room;
  std::array<Weight, kBlock> weights;
  for (std::size_t block = 0; block < row_->n_blocks(); ++block) {
    if (row_->unchanged(block) == 0) continue;
    const Block logits = row_->block(block, room);
    weights_of(logits, largest, scale, weights);
    for (std::size_t i = 0; i < kBlock; ++i) by_depth_[depth_index(logits[i])] += weights[i];
  }
  for (const Row::Adjusted& each : row_->adjusted()) {
    by_depth_[depth_index(each.logit)] += weight_here(each.logit);
  }
  std::size_t stretch = 0;
  while (target >= by_depth_[stretch]) target -= by_depth_[stretch++];

  ranked_.clear();
  const auto take = [&](float logit, TokenId token) {
    if (logit > kNever && depth_index(logit) == stretch) ranked_.push_back({logit, token});
  };
  for (std::size_t block = 0; block < row_->n_blocks(); ++block) {
    if (depth_index(row_->block_max(block)) > stretch) continue;
    for (std::uint64_t bits = row_->unchanged(block); bits != 0; bits &= bits - 1) {
      const std::size_t id = block * kBlock + static_cast<std::size_t>(std::countr_zero(bits));
      take(row_->model_logit(id), static_cast<TokenId>(id));
    }
  }
  for (const Row::Adjusted& each : row_->adjusted()) take(each.logit, each.token);
  std::sort(ranked_.begin(), ranked_.end(), kBefore);
  std::size_t i = 0;
  for (; target >= weight_here(ranked_[i].logit); ++i) target -= weight_here(ranked_[i].logit);
  return ranked_[i];
}

double Candidates::mean_depth() {
  const Weight depths =
      sum(1.0, [](Block block, double largest) { return sum_of_depths(block, largest); }, depth_of);
  return -static_cast<double>(depths) / static_cast<double>(total_weight());
}

}  // namespace minfer::sampling
