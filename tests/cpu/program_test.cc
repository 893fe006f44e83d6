// Programs: threads, sharing out, cancelling, stale rows, times; and proof that the comparisons of
// these tests see a kernel whose result depends on the order of the work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "cpu/kv_layout.h"
#include "cpu/phase.h"
#include "tests/cpu/graph_rig.h"

namespace minfer::tests {
namespace {

using backend::KvFormat;

constexpr std::int32_t kHeadDim = 64;

/// K and V of the step's tokens stored, and attention over all that is there.
std::unique_ptr<GraphRig> attention_rig(std::int32_t n_head, std::int32_t n_head_kv,
                                        KvFormat format, std::int32_t capacity) {
  auto g = std::make_unique<GraphRig>(capacity);
  g->kv_format = format;
  g->add_kv_layer(n_head_kv, kHeadDim);
  const auto token =
      g->builder.kv_store(g->rows(n_head_kv * kHeadDim), g->rows(n_head_kv * kHeadDim),
                          g->positions, g->sequence, g->kv_inputs, 0);
  g->finish(g->builder.attention(
      g->rows(n_head * kHeadDim), token, g->sequence, g->kv_inputs,
      {.layer = 0, .n_head = n_head, .n_head_kv = n_head_kv, .head_dim = kHeadDim, .scale = 0.125F},
      "y"));
  return g;
}

/// The first thread count whose result differs from that of one thread, or 0.
int first_difference(const std::function<std::vector<float>(int)>& run) {
  const auto wanted = bits(run(1));
  for (const int threads : {2, 3, 4, 5}) {
    if (bits(run(threads)) != wanted) return threads;
  }
  return 0;
}

TEST(CpuProgram, an_order_dependent_reduction_is_seen) {
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(3 * i + 1);
  // Every thread sums its own part, and the parts are added: the order depends on their number.
  const auto by_parts = [&](int threads) {
    ThreadPool pool(threads);
    std::vector<float> sums(static_cast<std::size_t>(threads));
    pool.run([&](int thread) {
      const auto n = static_cast<std::size_t>(threads);
      const std::size_t part = (x.size() + n - 1) / n;
      const std::size_t begin = static_cast<std::size_t>(thread) * part;
      for (std::size_t i = begin; i < std::min(begin + part, x.size()); ++i) {
        sums[static_cast<std::size_t>(thread)] += x[i];
      }
    });
    float sum = 0;
    for (const float s : sums) sum += s;
    return std::vector<float>{sum};
  };
  EXPECT_NE(first_difference(by_parts), 0);
}

TEST(CpuProgram, decode_in_the_depth_equals_prefill_for_any_threads) {
  // 1, 2 and 4 KV heads: the pages of a row are shared out where heads are fewer than threads.
  for (const std::int32_t n_head_kv : {1, 2, 4}) {
    for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
      const std::int32_t n = 301;
      const auto width = static_cast<std::size_t>(4 * kHeadDim);
      const auto whole = attention_rig(4, n_head_kv, format, n);
      const auto cpu = make_cpu(1, cpu::Isa::kScalar, 0);
      const auto all = bits(whole->run(*cpu, GraphRig::plain_step(n)));
      ASSERT_EQ(all.size(), width * static_cast<std::size_t>(n));
      const std::vector<std::uint32_t> last(all.end() - static_cast<std::ptrdiff_t>(width),
                                            all.end());
      for (const cpu::Isa isa : all_isas()) {
        for (const int threads : {2, 3}) {
          const auto many = make_cpu(threads, isa, 0);
          EXPECT_EQ(bits(whole->run(*many, GraphRig::plain_step(n))), all);
          // The last row again, alone, over the pages that are there.
          const auto one = attention_rig(4, n_head_kv, format, n);
          one->run(*many, GraphRig::plain_step(n - 1));
          const auto decode = attention_rig(4, n_head_kv, format, 1);
          RigStep step = GraphRig::plain_step(1, n - 1);
          step.ids = {(7 * (n - 1)) % GraphRig::kIds};
          decode->take_kv(*one);
          EXPECT_EQ(bits(decode->run(*many, step, {.keep_kv = true})), last)
              << n_head_kv << " KV heads, " << threads << " threads";
        }
      }
    }
  }
}

TEST(CpuProgram, stale_rows_past_the_cursor_are_never_read) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
    const auto rig = attention_rig(4, 2, format, 20);
    const auto cpu = make_cpu(2, all_isas().back(), 0);
    RigStep step = GraphRig::plain_step(5);
    const auto poisoned = bits(rig->run(*cpu, step));  // a KV full of NaN
    rig->fill_kv(std::byte{0});
    EXPECT_EQ(bits(rig->run(*cpu, step, {.keep_kv = true})), poisoned);
    // Rows before the window, and whole pages that are gone.
    RigStep far = GraphRig::plain_step(3, 130);
    far.pages = {{-1, -1, 4}};
    for (std::size_t i = 0; i < 3; ++i) far.bounds[2 * i] = 130;
    const auto window = bits(rig->run(*cpu, far));
    rig->fill_kv(std::byte{0});
    EXPECT_EQ(bits(rig->run(*cpu, far, {.keep_kv = true})), window);
    const auto nan = [](std::uint32_t pattern) { return (pattern & 0x7FFFFFFFU) > 0x7F800000U; };
    EXPECT_TRUE(std::none_of(poisoned.begin(), poisoned.end(), nan));
    EXPECT_TRUE(std::none_of(window.begin(), window.end(), nan));
  }
}

TEST(CpuProgram, a_shuffled_page_table_changes_nothing) {
  const auto rig = attention_rig(6, 3, KvFormat::kF16, 200);
  const auto cpu = make_cpu(2, all_isas().back(), 0);
  RigStep step = GraphRig::plain_step(200);
  const auto wanted = bits(rig->run(*cpu, step));
  step.pages = {{11, 2, 9, 4}};
  EXPECT_EQ(bits(rig->run(*cpu, step)), wanted);
}

TEST(CpuProgram, a_set_cancel_flag_stops_the_run) {
  const auto rig = attention_rig(4, 2, KvFormat::kF16, 20);
  for (const std::int64_t serial_cost : {std::int64_t{0}, std::int64_t{1} << 40}) {
    const auto cpu = make_cpu(2, all_isas().back(), serial_cost);
    std::atomic<bool> cancel{true};
    rig->run(*cpu, GraphRig::plain_step(5), {.cancel = &cancel});
    EXPECT_EQ(rig->status().code(), StatusCode::kCancelled);
    cancel = false;
    rig->run(*cpu, GraphRig::plain_step(5), {.cancel = &cancel});
    EXPECT_TRUE(rig->status().ok());
  }
}

TEST(CpuProgram, op_times_name_the_operation_and_its_type) {
  GraphRig g(4);
  g.finish(g.builder.mat_mul(g.rows(64), g.weight(DType::kQ4_0, {40, 64}), "y"));
  auto cpu = cpu::make_cpu_backend({.n_threads = 2, .op_timing = true}).value();
  g.run(*cpu, GraphRig::plain_step(3), {.fuse = true});
  const auto times = cpu->take_op_timings();
  const auto product = std::find_if(times.begin(), times.end(),
                                    [](const auto& t) { return t.op == "mat_mul Q4_0"; });
  ASSERT_NE(product, times.end());
  EXPECT_EQ(product->calls, 1U);
  EXPECT_EQ(product->flops, 3U * 2 * 40 * 64);
  EXPECT_GE(product->bytes, 40U * 64 / 32 * 18);
  EXPECT_GT(product->seconds, 0.0);
  EXPECT_TRUE(cpu->take_op_timings().empty());
}

TEST(CpuProgram, rows_of_the_kv_read_back_through_the_backend) {
  const auto rig = attention_rig(4, 2, KvFormat::kF32, 20);
  const auto cpu = make_cpu(1, cpu::Isa::kScalar, 0);
  rig->run(*cpu, GraphRig::plain_step(5));
  const auto geometry = rig->geometry(*cpu);
  std::vector<float> k(2 * kHeadDim), v(2 * kHeadDim);
  ASSERT_TRUE(cpu->read_kv_row(geometry, geometry.layers[0], rig->kv_memory(), 3, 4, k, v).ok());
  EXPECT_NE(k, v);
  EXPECT_TRUE(std::none_of(k.begin(), k.end(), [](float x) { return x != x; }));
  EXPECT_FALSE(cpu->read_kv_row(geometry, geometry.layers[0], rig->kv_memory(), 3, 64, k, v).ok());
}

TEST(CpuProgram, repacked_weights_are_counted) {
  std::vector<std::byte> bytes(64 * 64 / 32 * 18);
  const backend::WeightSource source{
      .view = {bytes.data(), DType::kQ4_0, {64, 64}}, .name = "w", .uses = backend::kUseMatMul};
  const auto repacked = make_cpu(2, all_isas().back(), 0)->load_weights({&source, 1}).value();
  const auto plain = make_cpu(2, all_isas().back(), 0, false)->load_weights({&source, 1}).value();
  EXPECT_EQ(plain->extra_bytes(), 0U);
  EXPECT_EQ(repacked->extra_bytes() > 0, all_isas().back() != cpu::Isa::kScalar);
}

/// Kilobytes of the mapping at `address` that this process holds, from /proc/self/smaps.
std::int64_t resident_kb(const std::byte* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<unsigned long long>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    long long kb = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) {
      inside = begin <= wanted && wanted < end;
    } else if (inside && std::sscanf(line.c_str(), "Rss: %lld kB", &kb) == 1) {
      return kb;
    }
  }
  return -1;
}

TEST(CpuProgram, a_repacked_matrix_is_resident_once) {
  if (all_isas().back() == cpu::Isa::kScalar) GTEST_SKIP() << "no kernels for repacked weights";
  constexpr std::int64_t kRows = 4096;
  constexpr std::int64_t kColumns = 1024;
  const auto size = row_size_bytes(DType::kQ4_0, kRows * kColumns);
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "minfer_cpu_resident";
  std::ofstream(path, std::ios::binary) << std::string(size, '\x11');
  auto file = MappedFile::open(path).value();
  const backend::WeightSource source{.view = {file.bytes().data(), DType::kQ4_0, {kRows, kColumns}},
                                     .name = "w",
                                     .uses = backend::kUseMatMul};
  const auto weights = make_cpu(2, all_isas().back(), 0)->load_weights({&source, 1}).value();
  EXPECT_GE(weights->extra_bytes(), size);
  const std::int64_t kept = resident_kb(file.bytes().data());
  EXPECT_GE(kept, 0);
  EXPECT_LT(kept, 64) << "of " << size / 1024;
  // The file's bytes are still there to read.
  EXPECT_EQ(file.bytes()[size - 1], std::byte{0x11});
  std::filesystem::remove(path);
}

TEST(RangeItems, every_item_is_taken_once_and_a_thread_starts_with_its_own) {
  for (const int n_threads : {1, 2, 3, 7}) {
    for (const std::int64_t n : {0, 1, 2, 5, 64, 101}) {
      ThreadPool pool(n_threads);
      std::vector<cpu::RangeCounter> ranges(static_cast<std::size_t>(n_threads));
      std::vector<std::atomic<int>> taken(static_cast<std::size_t>(n));
      std::atomic<std::int64_t> next{0};
      backend::StepContext step;
      pool.run([&](int thread) {
        const cpu::PhaseContext context{.step = step,
                                        .isa = cpu::Isa::kScalar,
                                        .scratch = nullptr,
                                        .tile = nullptr,
                                        .shared = nullptr,
                                        .next_item = next,
                                        .ranges = ranges.data(),
                                        .thread = thread,
                                        .n_threads = n_threads};
        cpu::RangeItems items(context, n);
        for (std::int64_t i = items.next(); i >= 0; i = items.next()) {
          taken[static_cast<std::size_t>(i)].fetch_add(1);
        }
      });
      for (const auto& count : taken) EXPECT_EQ(count.load(), 1);
    }
  }
  // Alone, the second of two takes its own half first, then the other's.
  std::vector<cpu::RangeCounter> ranges(2);
  std::atomic<std::int64_t> next{0};
  backend::StepContext step;
  const cpu::PhaseContext second{.step = step,
                                 .isa = cpu::Isa::kScalar,
                                 .scratch = nullptr,
                                 .tile = nullptr,
                                 .shared = nullptr,
                                 .next_item = next,
                                 .ranges = ranges.data(),
                                 .thread = 1,
                                 .n_threads = 2};
  cpu::RangeItems items(second, 5);
  std::vector<std::int64_t> order;
  for (std::int64_t i = items.next(); i >= 0; i = items.next()) order.push_back(i);
  EXPECT_EQ(order, (std::vector<std::int64_t>{2, 3, 4, 0, 1}));
}

TEST(CpuProgram, a_copy_without_room_is_not_made) {
  std::vector<std::byte> bytes(64 * 64 / 32 * 18);
  const backend::WeightSource source{
      .view = {bytes.data(), DType::kQ4_0, {64, 64}}, .name = "w", .uses = backend::kUseMatMul};
  std::uint64_t asked = 0;
  const auto cpu = cpu::make_cpu_backend({.isa = all_isas().back(),
                                          .may_copy =
                                              [&](std::uint64_t n) {
                                                asked = n;
                                                return false;
                                              }})
                       .value();
  EXPECT_EQ(cpu->load_weights({&source, 1}).value()->extra_bytes(), 0U);
  EXPECT_EQ(asked, all_isas().back() == cpu::Isa::kScalar ? 0U : bytes.size());
}

TEST(CpuProgram, no_threads_are_an_error) {
  EXPECT_EQ(cpu::make_cpu_backend({.n_threads = 0}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace minfer::tests
