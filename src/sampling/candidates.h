// Candidates: the legal tokens of a row from the likeliest down, as far as anybody looks, and the
// stretch of them that the chain has kept.
//
// Order: falling logit, equal ones by rising id. Whatever the stages keep is one stretch of it, so
// the state is two numbers. The first few tokens are found in one pass without sorting the row;
// whoever looks further has a longer prefix found, up to the whole row.
// Invariants: nothing is allocated after creation.
// Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sampling/row.h"
#include "sampling/token_id.h"
#include "sampling/weight.h"

namespace minfer::sampling {

struct Candidate {
  float logit;
  TokenId token;
};

class Candidates {
 public:
  Candidates(std::size_t n_vocab, std::size_t n_adjusted);

  /// Starts anew with all legal tokens of `row`, which must stay as it is while candidates are
  /// looked at. About `n_expected` of them will be.
  void begin(const Row& row, std::size_t n_expected);

  /// The i-th likeliest that is left, or null behind the last one. Valid until the next call that
  /// looks further.
  const Candidate* at(std::size_t i) {
    if (i >= left_) return nullptr;
    if (first_ + i >= ranked_.size()) rank(first_ + i + 1);
    return first_ + i < ranked_.size() ? &ranked_[first_ + i] : nullptr;
  }

  /// How far the i-th, which there is, lies below the first: 0 or less.
  double depth(std::size_t i) {
    const double own = at(i)->logit;
    return own - static_cast<double>(at(0)->logit);
  }
  Weight weight(std::size_t i, double scale = 1.0) { return weight_of(depth(i) * scale); }

  /// What all that are left weigh at temperature 1 / scale.
  Weight total_weight(double scale = 1.0);
  /// The probability-weighted mean of depth() at temperature 1.
  double mean_depth();

  /// The one at which the sum of weights from the likeliest down first exceeds `target`, which is
  /// less than total_weight(scale). Ends the use of the candidates.
  Candidate pick(Weight target, double scale);

  void keep_first(std::size_t n) {
    if (n >= std::min(left_, row_->n_vocab())) return;
    left_ = n;
    total_scale_ = 0.0;
  }
  void drop_first(std::size_t n) {
    first_ += n;
    if (left_ != kAll) left_ -= n;
    total_scale_ = 0.0;
  }
  /// Keeps the candidates [begin, end), which have been looked at; but of those as likely as the
  /// first of them, the ones with the lowest ids.
  void keep_stretch(std::size_t begin, std::size_t end);

 private:
  static constexpr std::size_t kAll = SIZE_MAX;

  void rank(std::size_t n);
  void collect(std::size_t limit);
  Candidate pick_deep(Weight target, double scale);
  template <class OfBlock, class OfDepth>
  Weight sum(double scale, const OfBlock& of_block, const OfDepth& of_depth);

  const Row* row_ = nullptr;
  std::size_t n_expected_ = 0;
  std::vector<Candidate> ranked_;  // in order, all legal tokens before the next one
  bool all_ranked_ = false;
  std::size_t first_ = 0;     // of those that are left
  std::size_t left_ = kAll;   // how many at most
  double total_scale_ = 0.0;  // that total_ is for; 0: none
  Weight total_ = 0;
  std::vector<Weight> by_depth_;  // scratch of pick_deep()
};

}  // namespace minfer::sampling
