// mat_mul_bench: speed of the matrix kernels, of re-ordering weights, and of plain reads.
//
//   mat_mul_bench [THREADS] [TYPE]        (MINFER_ISA forces an instruction set)
//
// One row of x: GB/s of weight bytes, beside the GB/s of a loop that only reads. 512 rows: 10^9
// multiply-adds a second.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/mat_mul.h"
#include "quant/codec.h"

namespace {

using minfer::DType;
using minfer::ThreadPool;
namespace cpu = minfer::cpu;

struct Shape {
  std::int64_t n_rows;
  std::int64_t n_cols;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Least seconds of a call, over about 0.3 s: machines are shared.
template <class F>
double least_seconds(const F& call) {
  std::vector<double> times;
  call();
  const double start = seconds_now();
  while (times.size() < 5 || (seconds_now() - start < 0.3 && times.size() < 2000)) {
    const double before = seconds_now();
    call();
    times.push_back(seconds_now() - before);
  }
  return *std::min_element(times.begin(), times.end());
}

/// Runs f(begin, end) over the tiles, a range a thread.
template <class F>
void over_tiles(ThreadPool& pool, std::int64_t n_tiles, const F& f) {
  pool.run(
      [&](int thread) { f(n_tiles * thread / pool.size(), n_tiles * (thread + 1) / pool.size()); });
}

/// Rows of x in the form that the weight type asks for.
struct Rows {
  Rows(DType type, std::int64_t n_cols, std::int64_t n_x)
      : floats(static_cast<std::size_t>(n_x * n_cols)) {
    for (std::size_t i = 0; i < floats.size(); ++i) {
      floats[i] = static_cast<float>(i * 7919 % 2001) * 1e-3F - 1.0F;
    }
    const bool quantized = cpu::takes_quantized_rows(type);
    x_stride = quantized ? static_cast<std::int64_t>(cpu::q8a_row_bytes(n_cols)) : n_cols * 4;
    storage.resize(static_cast<std::size_t>(n_x * x_stride) + 64);
    std::byte* at = storage.data();
    at += 64 - reinterpret_cast<std::uintptr_t>(at) % 64;
    x = at;
    if (!quantized) std::memcpy(at, floats.data(), floats.size() * sizeof(float));
    for (std::int64_t i = 0; quantized && i < n_x; ++i) {
      cpu::quantize_row(cpu::Isa::kScalar, floats.data() + i * n_cols, n_cols, at + i * x_stride);
    }
  }

  std::vector<float> floats;
  std::vector<std::byte> storage;
  const std::byte* x = nullptr;
  std::int64_t x_stride = 0;
};

class Bench {
 public:
  Bench(int n_threads, cpu::Isa isa) : pool_(n_threads), isa_(isa) {}

  /// GB/s of summing 512 MB.
  double read_speed() {
    std::vector<std::uint64_t> memory(64 << 20, 1);
    const auto n = static_cast<std::int64_t>(memory.size());
    std::uint64_t sink = 0;
    const double seconds = least_seconds([&] {
      over_tiles(pool_, n / 512, [&](std::int64_t begin, std::int64_t end) {
        std::uint64_t sums[8] = {};
        for (std::int64_t i = begin * 512; i < end * 512; i += 8) {
          for (int j = 0; j < 8; ++j) sums[j] += memory[static_cast<std::size_t>(i + j)];
        }
        __atomic_fetch_add(&sink, sums[0] + sums[1] + sums[7], __ATOMIC_RELAXED);
      });
    });
    return static_cast<double>(memory.size()) * 8e-9 / seconds;
  }

  /// `n_copies` of the matrix below each other: as large as a model, so that it comes from memory.
  void measure(DType type, Shape shape, std::int64_t n_copies, bool many_rows) {
    const std::int64_t n_rows = shape.n_rows * n_copies;
    const auto n_weights = static_cast<double>(n_rows * shape.n_cols);
    std::vector<std::byte> plain(
        minfer::row_size_bytes(type, static_cast<std::uint64_t>(n_rows * shape.n_cols)));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      plain[i] = static_cast<std::byte>((i * 2654435761u >> 7) & 0x3b);
    }
    // An exponent in place of an f16: scales as small as the rest, and no subnormal sums.
    for (std::size_t i = 0; type == DType::kMXFP4 && i < plain.size(); i += 17) {
      plain[i] = std::byte{120};
    }
    std::vector<std::byte> packed;
    auto weight = cpu::plain_weight(type, plain.data(), n_rows, shape.n_cols);
    double pack_speed = 0;
    if (cpu::can_interleave(type, isa_)) {
      packed.resize(cpu::interleaved_bytes(type, n_rows, shape.n_cols));
      pack_speed = static_cast<double>(plain.size()) * 1e-9 / pack(weight, packed);
      weight = cpu::interleaved_weight(type, packed.data(), n_rows, shape.n_cols);
    }
    const double bytes = static_cast<double>(packed.empty() ? plain.size() : packed.size());
    const Rows rows(type, shape.n_cols, many_rows ? 512 : 8);
    fmt::print("{:7} {:6} x {:5}", minfer::dtype_name(type), n_rows, shape.n_cols);
    if (many_rows) {
      fmt::print("  512 rows {:6.1f} G madd/s\n", n_weights * 512e-9 / product(weight, rows, 512));
      return;
    }
    fmt::print("  1 row {:6.1f} GB/s  4 rows {:6.1f} GB/s  8 rows {:6.1f} G madd/s",
               bytes * 1e-9 / product(weight, rows, 1), bytes * 1e-9 / product(weight, rows, 4),
               n_weights * 8e-9 / product(weight, rows, 8));
    fmt::print("  re-order {:4.1f} GB/s\n", pack_speed);
  }

 private:
  /// Seconds to interleave.
  double pack(const cpu::PackedWeight& weight, std::vector<std::byte>& to) {
    return least_seconds([&] {
      over_tiles(pool_, weight.n_rows / cpu::kTileRows, [&](std::int64_t begin, std::int64_t end) {
        cpu::interleave(weight.dtype, weight.data, weight.n_rows, weight.n_cols, to.data(), begin,
                        end);
      });
    });
  }

  /// Seconds of the product with the first n_x rows.
  double product(const cpu::PackedWeight& weight, const Rows& rows, std::int64_t n_x) {
    std::vector<float> y(static_cast<std::size_t>(n_x * weight.n_rows));
    const cpu::MatMulArgs args = {.weight = &weight,
                                  .x = rows.x,
                                  .x_stride = rows.x_stride,
                                  .n_x = n_x,
                                  .y = y.data(),
                                  .y_stride = weight.n_rows};
    return least_seconds([&] {
      over_tiles(pool_, weight.n_rows / cpu::kTileRows, [&](std::int64_t begin, std::int64_t end) {
        cpu::mat_mul(isa_, args, begin, end);
      });
    });
  }

  ThreadPool pool_;
  cpu::Isa isa_;
};

}  // namespace

int main(int argc, char** argv) {
  const int n_threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const std::string_view only = argc > 2 ? argv[2] : "";
  const char* forced = std::getenv("MINFER_ISA");
  const auto isa = cpu::choose_isa(forced != nullptr ? forced : "");
  if (!isa.ok()) {
    fmt::print(stderr, "{}\n", isa.status().message());
    return 1;
  }
  Bench bench(n_threads, isa.value());
  fmt::print("{}, {} thread(s), plain reads {:.1f} GB/s\n", cpu::isa_name(isa.value()), n_threads,
             bench.read_speed());
  for (const minfer::quant::Codec& codec : minfer::quant::all_codecs()) {
    const DType type = codec.dtype;
    if (!only.empty() && only != minfer::dtype_name(type)) continue;
    const bool k_quant = minfer::dtype_info(type).block_elements == 256;
    bench.measure(type, {1536, k_quant ? 768 : 576}, 200, false);
    bench.measure(type, {1536, k_quant ? 768 : 576}, 1, true);
    bench.measure(type, {896, 4864}, 1, true);
  }
  return 0;
}
