// What the machine could do at best with some threads, measured: the yardstick of benchmarks.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"
#include "cpu/isa.h"

namespace minfer::cpu {

struct MachineLimits {
  double read_gbps = 0;       // GB/s of reading the working set once more
  double int8_gflops = 0;     // 10^9 operations a second, two a multiply-add of bytes
  double float32_gflops = 0;  // the same of F32
};

/// Measures for about a quarter of a second: the best of several passes, since machines are shared.
/// Each thread of a pool of `n_threads` reads its own part of `working_set_bytes`, which it has
/// written before; a set that fits a cache gives the cache's speed. More than 1 GiB reads no
/// differently, so no more is taken. `cancel`, if not null, ends it within a few milliseconds.
/// kOutOfMemory: no room; kCancelled: the flag was seen.
Result<MachineLimits> measure_limits(Isa isa, int n_threads, std::uint64_t working_set_bytes,
                                     const std::atomic<bool>* cancel = nullptr);

}  // namespace minfer::cpu
