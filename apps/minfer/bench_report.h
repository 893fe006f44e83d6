// The rows of `minfer bench` and how they are printed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench_cost.h"
#include "cpu/machine_limits.h"

namespace minfer::app {

/// One combination of settings, measured.
struct BenchRow {
  std::string model;
  std::uint64_t size_bytes = 0;
  std::uint64_t n_params = 0;
  std::string_view isa;
  std::string_view kv_type;
  int n_threads = 0;
  std::int32_t n_prompt = 0;  // a prefill of so many tokens, or
  std::int32_t n_gen = 0;     // so many decode steps
  std::int32_t depth = 0;     // tokens in each sequence before
  std::int32_t n_seq = 1;
  std::vector<double> samples;  // tokens of all sequences a second, one a repetition
  Cost token_cost;              // a token's share of what the forwards read and compute
  cpu::MachineLimits limits;    // measured beside the samples

  /// "pp512", "tg128", with "@d2048", "x8" and " q8_0" where depth, sequences or another KV type
  /// than f16 are set.
  [[nodiscard]] std::string test() const;
  [[nodiscard]] double mean() const;
  /// Standard deviation of the samples; 0 for one.
  [[nodiscard]] double deviation() const;
  [[nodiscard]] double gbps() const { return mean() * token_cost.bytes * 1e-9; }
  [[nodiscard]] double gflops() const { return mean() * token_cost.flops() * 1e-9; }

  /// The share of the time that reading alone would take at the measured limit.
  [[nodiscard]] double memory_share() const { return gbps() / limits.read_gbps; }
  /// The same of multiplying and adding alone: its limit in GFLOP/s, of so much int8 and F32.
  [[nodiscard]] double arithmetic_limit() const;
  [[nodiscard]] double arithmetic_share() const { return gflops() / arithmetic_limit(); }
  [[nodiscard]] double share_of_limit() const;  // the larger of the two
};

/// `format`: "md", "csv" or "json".
std::string bench_table(std::span<const BenchRow> rows, std::string_view format);

}  // namespace minfer::app
