#include "bench_sequences.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace minfer::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::int32_t BenchSequences::random_id() {
  const auto last = static_cast<std::int32_t>(forward_.options().n_vocab - 1);
  return std::uniform_int_distribution<std::int32_t>(0, last)(rng_);
}

Status BenchSequences::extend(plan::SequenceId sequence, std::int32_t n) {
  for (std::int32_t done = 0; done < n;) {
    const std::int32_t chunk = std::min(n - done, batch_size_);
    const std::int32_t position = forward_.kv().length(sequence);
    rows_.clear();
    for (std::int32_t i = 0; i < chunk; ++i) {
      rows_.push_back({random_id(), position + i, sequence, false});
    }
    done += chunk;
    rows_.back().wants_output = done == n;
    MINFER_RETURN_IF_ERROR(forward_.run(rows_).status());
  }
  return ok_status();
}

/// Brings the first `n_seq` sequences to `depth`, which others may have left longer or shorter.
Status BenchSequences::fill(std::int32_t n_seq, std::int32_t depth) {
  plan::KvStore& kv = forward_.kv();
  while (sequences_.size() < static_cast<std::size_t>(n_seq)) {
    MINFER_ASSIGN_OR_RETURN(const plan::SequenceId id, kv.open());
    sequences_.push_back(id);
  }
  for (const plan::SequenceId id : std::span(sequences_).first(static_cast<std::size_t>(n_seq))) {
    MINFER_RETURN_IF_ERROR(kv.truncate(id, depth));
    MINFER_RETURN_IF_ERROR(extend(id, depth - kv.length(id)));
  }
  return ok_status();
}

Status BenchSequences::step(std::int32_t n_seq) {
  rows_.clear();
  for (const plan::SequenceId id : std::span(sequences_).first(static_cast<std::size_t>(n_seq))) {
    rows_.push_back({random_id(), forward_.kv().length(id), id, true});
  }
  return forward_.run(rows_).status();
}

Result<double> BenchSequences::prefill(std::int32_t n, std::int32_t depth) {
  MINFER_RETURN_IF_ERROR(fill(1, depth));
  const auto start = Clock::now();
  MINFER_RETURN_IF_ERROR(extend(sequences_[0], n));
  return seconds_since(start);
}

Result<double> BenchSequences::decode(std::int32_t n, std::int32_t depth, std::int32_t n_seq) {
  MINFER_RETURN_IF_ERROR(fill(n_seq, depth));
  MINFER_RETURN_IF_ERROR(step(n_seq));
  const auto start = Clock::now();
  for (std::int32_t i = 0; i < n; ++i) MINFER_RETURN_IF_ERROR(step(n_seq));
  return seconds_since(start);
}

}  // namespace minfer::app
