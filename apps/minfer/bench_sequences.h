// BenchSequences: sequences of random ids that are held at a depth while forwards are timed.
//
// Invariants: what a measurement adds is cut off again by the next, so a depth is filled once for
// all repetitions; every sequence has rows of its own, none shared with another.
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/status.h"
#include "plan/forward.h"

namespace minfer::app {

class BenchSequences {
 public:
  /// `batch_size`: rows of one forward of a prefill.
  BenchSequences(plan::Forward& forward, std::int32_t batch_size)
      : forward_(forward), batch_size_(batch_size) {}

  /// Seconds of a prefill of `n` tokens into one sequence that holds `depth` tokens.
  Result<double> prefill(std::int32_t n, std::int32_t depth);

  /// Seconds of `n` steps, each one token of `n_seq` sequences in one forward; the first of them
  /// is at position depth + 1, behind a step that is not timed.
  Result<double> decode(std::int32_t n, std::int32_t depth, std::int32_t n_seq);

 private:
  Status fill(std::int32_t n_seq, std::int32_t depth);
  Status extend(plan::SequenceId sequence, std::int32_t n);
  Status step(std::int32_t n_seq);
  std::int32_t random_id();

  plan::Forward& forward_;
  std::int32_t batch_size_;
  std::vector<plan::SequenceId> sequences_;
  std::vector<plan::Row> rows_;
  std::mt19937 rng_{42};
};

}  // namespace minfer::app
