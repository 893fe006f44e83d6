// What the heap sees: nothing in a steady forward, and no growth over a thousand rebuilds.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/plan/rig.h"

namespace {

std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> living{0};

void* allocate(std::size_t size) {
  ++allocations;
  ++living;
  if (void* p = std::malloc(size)) return p;
  std::abort();
}

void release(void* p) {
  if (p != nullptr) --living;
  std::free(p);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }

namespace minfer::tests {
namespace {

TEST(Plan, steady_forward_allocates_nothing) {
  PlanRigOptions options;
  options.tiny = {.windows = {0, 40}, .recurrent = true};
  options.cache.verify_reuse = false;
  PlanRig rig(options);
  const auto a = rig.open();
  const auto b = rig.open();
  rig.run_all(a, random_tokens(30, 1), 30);
  rig.run_all(b, random_tokens(30, 2), 30);
  std::vector<plan::Row> rows = {{.token = 1, .sequence = a, .wants_output = true},
                                 {.token = 2, .sequence = b, .wants_output = true}};
  const auto step = [&] {
    for (plan::Row& row : rows) row.position = rig.kv().length(row.sequence);
    return rig.forward->run(rows).ok();
  };
  ASSERT_TRUE(step());
  const std::int64_t before = allocations;
  bool ok = true;
  // Past two page borders of each sequence.
  for (int i = 0; i < 140; ++i) ok = step() && ok;
  EXPECT_TRUE(ok);
  EXPECT_EQ(allocations - before, 0);
}

TEST(Plan, thousand_rebuilds_do_not_grow_memory) {
  PlanRigOptions options;
  options.cache = {.max_graphs = 3, .verify_reuse = false};
  options.with_device = true;
  PlanRig rig(options);
  const auto id = rig.open();
  const auto tokens = random_tokens(8, 3);
  const auto round = [&](std::size_t n) {
    EXPECT_TRUE(rig.forward->run(rig.rows(id, {tokens.data(), n})).ok());
    EXPECT_TRUE(rig.kv().truncate(id, 0).ok());
  };
  for (std::size_t i = 0; i < 10; ++i) round(1 + i % 5);
  static_cast<void>(rig.device->counters());
  const std::uint64_t built = rig.stats().built;
  const std::int64_t before = living;
  const std::uint64_t arena = rig.forward->cache().arena(1).size_bytes();
  for (std::size_t i = 0; i < 1000; ++i) round(1 + i % 5);
  static_cast<void>(rig.device->counters());
  EXPECT_EQ(rig.stats().built - built, 1000U);
  EXPECT_EQ(rig.forward->cache().size(), 3U);
  EXPECT_EQ(rig.device->captured_uids().size(), 3U);
  EXPECT_LE(living, before + 8) << "a rebuild keeps something";
  EXPECT_EQ(rig.forward->cache().arena(1).size_bytes(), arena);
  EXPECT_EQ(rig.kv().usage().pages_used, 0);
}

}  // namespace
}  // namespace minfer::tests
