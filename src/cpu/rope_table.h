// RopeTable: cosines and sines of RoPE angles by position, for one set of RoPE options.
//
// Owns: address space for all positions, committed as they are first used.
// Invariants: angle(position, i) = position * base^(-2 i / n_rot) * freq_scale / factor_i, worked
// out in binary64 by our own code without FMA and rounded once (docs/arithmetic.md): the bits
// depend on nothing but the options and the position. Thread-safety: fill() by one thread while
// nobody reads; reads are free after it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cpu/memory_block.h"

namespace minfer::cpu {

struct RopeTableKey {
  std::int32_t n_rot = 0;
  float base = 0.0F;
  float freq_scale = 1.0F;
  std::vector<float> factors;  // n_rot / 2 divisors, or none
  friend bool operator==(const RopeTableKey&, const RopeTableKey&) = default;
};

class RopeTable {
 public:
  static Result<RopeTable> create(const RopeTableKey& key, std::int32_t n_positions);

  [[nodiscard]] const RopeTableKey& key() const { return key_; }
  [[nodiscard]] std::int32_t n_positions() const {
    return static_cast<std::int32_t>(filled_.size());
  }
  /// Makes the rows of `positions`, each in [0, n_positions), readable.
  void fill(std::span<const std::int32_t> positions);
  /// n_rot / 2 cosines and as many sines of a position that was filled.
  [[nodiscard]] const float* cosine(std::int32_t position) const {
    return reinterpret_cast<const float*>(memory_.data()) + std::int64_t{position} * key_.n_rot;
  }
  [[nodiscard]] const float* sine(std::int32_t position) const {
    return cosine(position) + key_.n_rot / 2;
  }

 private:
  RopeTable() = default;

  RopeTableKey key_;
  MemoryBlock memory_;                // [n_positions][n_rot] floats
  std::vector<double> theta_;         // [n_rot / 2]
  std::vector<std::uint8_t> filled_;  // by position
};

/// ln(x) for a normal x > 0, e^x for |x| < 700, and sine and cosine for |x| < 2^30, to about one
/// unit of binary64; + - * / alone.
double log_f64(double x);
double exp_f64(double x);
struct SineCosine {
  double sine, cosine;
};
SineCosine sine_cosine_f64(double x);

}  // namespace minfer::cpu
