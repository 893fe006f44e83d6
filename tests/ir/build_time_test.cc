// Building a graph and running the passes is cheap: a rebuild must not be felt between two tokens.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "passes/pass.h"
#include "tests/ir/fake_backend.h"
#include "tests/ir/test_graphs.h"

namespace {
std::atomic<std::size_t> n_allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace minfer::ir_test {
namespace {

void build_and_fuse(std::int32_t n_layers) {
  const ModelOptions options{.n_layers = n_layers, .bias = true};
  FakeBackend fake;
  const std::array<backend::Backend*, 1> backends = {&fake};
  passes::PassContext context;
  context.backends = backends;
  Result<ir::Graph> graph = ModelBuilder(options).build();
  MINFER_CHECK(graph.ok());
  MINFER_CHECK(passes::assign_backends(*graph, context).ok());
  MINFER_CHECK(passes::run_passes(*graph, context).ok());
}

std::size_t allocations(std::int32_t n_layers) {
  const std::size_t before = n_allocations;
  build_and_fuse(n_layers);
  return n_allocations - before;
}

TEST(BuildTime, no_allocation_a_node) {
  const std::size_t small = allocations(2);
  const std::size_t large = allocations(24);
  EXPECT_GT(small, 0U);
  // Vectors that grow, by doubling; the larger graph has 400 nodes more.
  EXPECT_LT(large, small + 20) << small;
}

TEST(BuildTime, model_of_24_layers_is_built_within_a_millisecond) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "times mean something in an optimised build without sanitizers";
#endif
  using Clock = std::chrono::steady_clock;
  double best = 1.0;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    build_and_fuse(24);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::printf("24 layers: %.3f ms\n", best * 1e3);
  RecordProperty("milliseconds", std::to_string(best * 1e3));
  EXPECT_LT(best, 1e-3);
}

}  // namespace
}  // namespace minfer::ir_test
