#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <new>
#include <thread>
#include <vector>

namespace {

std::atomic<long> n_allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  n_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace minfer {
namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

TEST(ThreadPool, RunsEveryThreadOnce) {
  for (int n = 1; n <= 5; ++n) {
    ThreadPool pool(n);
    ASSERT_EQ(pool.size(), n);
    std::vector<int> calls(static_cast<std::size_t>(n));
    for (int round = 0; round < 200; ++round) {
      pool.run([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
    }
    for (int count : calls) EXPECT_EQ(count, 200);
  }
}

TEST(ThreadPool, CallerIsThreadZero) {
  ThreadPool pool(3);
  std::thread::id zero;
  pool.run([&](int thread) {
    if (thread == 0) zero = std::this_thread::get_id();
  });
  EXPECT_EQ(zero, std::this_thread::get_id());
}

// Plain variables: only the barrier's ordering makes the sums right (and TSan silent).
TEST(ThreadPool, BarrierOrdersPhases) {
  for (int n : {1, 2, 3, 4}) {
    ThreadPool pool(n);
    std::vector<long> cells(static_cast<std::size_t>(n), 1);
    long total = 0;
    int n_serial = 0;
    pool.run([&](int thread) {
      for (int phase = 0; phase < 300; ++phase) {
        const auto next = static_cast<std::size_t>((thread + 1) % n);
        cells[static_cast<std::size_t>(thread)] += 1;
        pool.barrier([&] {
          ++n_serial;
          total = 0;
          for (long cell : cells) total += cell;
        });
        EXPECT_EQ(total, n * (phase + 2));
        EXPECT_EQ(cells[next], phase + 2);
        pool.barrier();
      }
    });
    EXPECT_EQ(n_serial, 300);
  }
}

TEST(ThreadPool, MoreThreadsThanProcessors) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto start = steady_clock::now();
  {
    ThreadPool pool(8);
    std::atomic<int> sum{0};
    for (int round = 0; round < 20; ++round) {
      pool.run([&](int) {
        for (int phase = 0; phase < 20; ++phase) {
          sum.fetch_add(1, std::memory_order_relaxed);
          pool.barrier();
        }
      });
    }
    EXPECT_EQ(sum.load(), 8 * 20 * 20);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  // 400 barriers of 8 threads on one processor: some 20 ms; waiting out time slices takes 10 s.
  EXPECT_LT(seconds_since(start), 3.0);
}

TEST(ThreadPool, IdlePoolBurnsNothing) {
  for (int n : {2, 8}) {  // fewer and more than the processors, on most machines
    ThreadPool pool(n);
    pool.run([](int) {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    const double cpu_seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    EXPECT_LT(cpu_seconds, 0.03) << n << " threads";
  }
}

TEST(ThreadPool, WakesAfterParking) {
  ThreadPool pool(3);
  std::atomic<int> n{0};
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pool.run([&](int) { n.fetch_add(1); });
  }
  EXPECT_EQ(n.load(), 60);
}

TEST(ThreadPool, RunAllocatesNothing) {
  ThreadPool pool(3);
  pool.run([](int) {});
  const long before = n_allocations.load();
  for (int round = 0; round < 50; ++round) {
    pool.run([&](int) { pool.barrier([] {}); });
  }
  EXPECT_EQ(n_allocations.load(), before);
}

TEST(ThreadPool, CreatedAndDestroyedWithoutWork) {
  for (int round = 0; round < 50; ++round) ThreadPool pool(1 + round % 4);
}

}  // namespace
}  // namespace minfer
