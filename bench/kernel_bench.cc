// kernel_bench: `--benchmark_filter=REGEX` chooses rows, `--help` lists the rest.
#include "bench/kernel_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "cpu/machine_limits.h"

namespace minfer::bench {
namespace {

/// Measured once for a set and about so many bytes.
const cpu::MachineLimits& limits_of(cpu::Isa isa, double bytes) {
  static std::map<std::pair<cpu::Isa, std::uint64_t>, cpu::MachineLimits> known;
  const std::uint64_t size = std::bit_ceil(static_cast<std::uint64_t>(bytes));
  const auto [at, is_new] = known.try_emplace({isa, size});
  if (is_new) {
    const auto limits = cpu::measure_limits(isa, 1, size);
    MINFER_CHECK(limits.ok());
    at->second = *limits;
  }
  return at->second;
}

void report(benchmark::State& state, cpu::Isa isa, const Work& work, double seconds) {
  const cpu::MachineLimits& limits = limits_of(isa, work.bytes);
  const double flops = work.int8_flops + work.float_flops;
  const double least =
      std::max(work.bytes / limits.read_gbps,
               work.int8_flops / limits.int8_gflops + work.float_flops / limits.float32_gflops) *
      1e-9;
  state.counters["GB/s"] = work.bytes * 1e-9 / seconds;
  state.counters["GFLOP/s"] = flops * 1e-9 / seconds;
  state.counters["share"] = least / seconds;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void add(const std::string& name, cpu::Isa isa, const Work& work, MakeCall make) {
  if (!cpu::choose_isa(cpu::isa_name(isa)).ok()) return;
  const auto run = [=](benchmark::State& state) {
    const std::function<void()> call = make();
    call();
    const double start = now_seconds();
    for (auto _ : state) {
      call();
      benchmark::ClobberMemory();
    }
    const double seconds = now_seconds() - start;
    report(state, isa, work, seconds / static_cast<double>(state.iterations()));
  };
  benchmark::RegisterBenchmark((name + "/" + std::string(cpu::isa_name(isa))).c_str(), run)
      ->Unit(benchmark::kMicrosecond);
}

Floats::Floats(std::size_t n) : storage_(n + 16) {
  void* start = storage_.data();
  std::size_t space = storage_.size() * sizeof(float);
  data_ = static_cast<float*>(std::align(64, n * sizeof(float), start, space));
  for (std::size_t i = 0; i < n; ++i) {
    data_[i] = static_cast<float>(i * 7919 % 2001) * 1e-3F - 1.0F;
  }
}

}  // namespace minfer::bench

int main(int argc, char** argv) {
  // One table, in a minute, unless the command line says otherwise.
  std::vector<char*> arguments(argv, argv + argc);
  char tabular[] = "--benchmark_counters_tabular=true";
  char brief[] = "--benchmark_min_time=0.05";
  arguments.insert(arguments.begin() + 1, {tabular, brief});
  int n = static_cast<int>(arguments.size());
  benchmark::Initialize(&n, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(n, arguments.data())) return 2;
  minfer::bench::add_mat_mul_rows();
  minfer::bench::add_attention_rows();
  minfer::bench::add_vector_rows();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
