#include "cpu/machine_limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/kernels/limits/limits.h"
#include "cpu/memory_block.h"

namespace minfer::cpu {
namespace {

constexpr std::int64_t kLeastBytesPerPass = 32 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

/// Least seconds of running `body` on all threads, in at least five passes and `at_least` seconds.
double least_seconds(ThreadPool& pool, double at_least, const std::atomic<bool>* cancel,
                     FunctionRef<void(int)> body) {
  pool.run(body);  // warms up
  double least = 1e9;
  const double start = now_seconds();
  for (int pass = 0; pass < 5 || now_seconds() - start < at_least; ++pass) {
    if (is_set(cancel)) break;
    const double before = now_seconds();
    pool.run(body);
    least = std::min(least, now_seconds() - before);
  }
  return least;
}

/// Keeps results that nobody wants, one for each thread on a cache line of its own.
struct alignas(64) Sink {
  std::uint64_t value = 0;
};

Result<double> read_speed(const LimitKernels& kernels, ThreadPool& pool, std::int64_t n_bytes,
                          const std::atomic<bool>* cancel) {
  const std::int64_t n_threads = pool.size();
  const std::int64_t part = (n_bytes / n_threads + kReadChunk - 1) / kReadChunk * kReadChunk;
  MINFER_ASSIGN_OR_RETURN(MemoryBlock block,
                          MemoryBlock::create(static_cast<std::uint64_t>(part * n_threads)));
  block.prefer_large_pages();
  std::vector<Sink> sinks(static_cast<std::size_t>(n_threads));
  pool.run([&](int thread) {
    for (std::int64_t at = 0; at < part && !is_set(cancel); at += kReadChunk) {
      std::memset(block.data() + part * thread + at, 1, static_cast<std::size_t>(kReadChunk));
    }
  });
  const std::int64_t rounds = std::max<std::int64_t>(1, kLeastBytesPerPass / (part * n_threads));
  const double seconds = least_seconds(pool, 0.1, cancel, [&](int thread) {
    for (std::int64_t round = 0; round < rounds && !is_set(cancel); ++round) {
      sinks[static_cast<std::size_t>(thread)].value +=
          kernels.read(block.data() + part * thread, part);
    }
  });
  return static_cast<double>(rounds * part * n_threads) * 1e-9 / seconds;
}

double operation_speed(ThreadPool& pool, std::uint64_t (*loop)(std::int64_t), std::int64_t madds,
                       const std::atomic<bool>* cancel) {
  // About a millisecond: long against the start of the pool, short against a turn of the scheduler.
  double rounds = 1000;
  for (double seconds = 0; seconds < 1e-3; rounds *= 2) {
    const double start = now_seconds();
    loop(static_cast<std::int64_t>(rounds));
    seconds = now_seconds() - start;
  }
  std::vector<Sink> sinks(static_cast<std::size_t>(pool.size()));
  const double seconds = least_seconds(pool, 0.05, cancel, [&](int thread) {
    sinks[static_cast<std::size_t>(thread)].value += loop(static_cast<std::int64_t>(rounds));
  });
  return 2e-9 * rounds * static_cast<double>(madds * pool.size()) / seconds;
}

}  // namespace

Result<MachineLimits> measure_limits(Isa isa, int n_threads, std::uint64_t working_set_bytes,
                                     const std::atomic<bool>* cancel) {
  const LimitKernels& kernels = limit_kernels(isa);
  ThreadPool pool(n_threads);
  MachineLimits limits;
  const auto n_bytes = static_cast<std::int64_t>(
      std::clamp<std::uint64_t>(working_set_bytes, kReadChunk, kMostBytes));
  MINFER_ASSIGN_OR_RETURN(limits.read_gbps, read_speed(kernels, pool, n_bytes, cancel));
  limits.int8_gflops = operation_speed(pool, kernels.int8, kernels.int8_madds, cancel);
  limits.float32_gflops = operation_speed(pool, kernels.float32, kernels.float32_madds, cancel);
  if (is_set(cancel)) return cancelled("cancelled");
  return limits;
}

}  // namespace minfer::cpu
