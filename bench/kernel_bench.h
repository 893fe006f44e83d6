// One benchmark for each row of every kernels.inc, on one thread: time, GB/s, GFLOP/s and the share
// of what this machine can do.
//
// Thread-safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cpu/isa.h"

namespace minfer::bench {

/// What one call of a kernel reads, writes and computes.
struct Work {
  double bytes = 0;
  double int8_flops = 0;   // two a multiply-add
  double float_flops = 0;  // the same; of functions that do other work: 0
};

/// Makes the operands when the benchmark starts, and gives the call to time.
using MakeCall = std::function<std::function<void()>()>;

/// A benchmark "NAME/ISA", unless this machine lacks the set. The share is the larger of bytes over
/// what a loop of the same set reads from a working set of as many bytes, and of operations over
/// what it does in registers (cpu/machine_limits.h). A cache takes stores beside loads, so that
/// kernels that do nothing else may pass 1.
void add(const std::string& name, cpu::Isa isa, const Work& work, MakeCall make);

/// Floats of both signs, 64-byte aligned, none of them subnormal.
class Floats {
 public:
  explicit Floats(std::size_t n);
  [[nodiscard]] float* data() { return data_; }

 private:
  std::vector<float> storage_;
  float* data_ = nullptr;
};

// A file each: benchmarks of all rows of some kernels.inc.
void add_mat_mul_rows();
void add_attention_rows();
void add_vector_rows();

}  // namespace minfer::bench
