#include "base/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace minfer {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for the gap between two small operators, short enough not to be seen in `top`. With
// more threads than processors a spinning thread only keeps the one that it waits for from running.
constexpr std::chrono::microseconds kSpin{50};
constexpr std::chrono::microseconds kSpinOversubscribed{2};

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// A counter that threads wait on until it moves: first spinning, then parked on a futex.
class alignas(64) Gate {
 public:
  [[nodiscard]] std::uint32_t value() const { return value_.load(std::memory_order_acquire); }

  void advance() {
    // Sequentially consistent on both words: either the waiter sees the new value, or we see it
    // among the sleepers.
    value_.fetch_add(1);
    if (n_sleepers_.load() > 0) {
      syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
  }

  void wait_while(std::uint32_t old, Clock::duration spin) {
    if (spun_out(old, spin)) return;
    n_sleepers_.fetch_add(1);
    while (value_.load() == old) {
      syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
    }
    n_sleepers_.fetch_sub(1);
  }

 private:
  [[nodiscard]] bool spun_out(std::uint32_t old, Clock::duration spin) const {
    constexpr int kPausesBetweenClockReads = 16;
    std::optional<Clock::time_point> end;
    while (true) {
      for (int i = 0; i < kPausesBetweenClockReads; ++i) {
        if (value() != old) return true;
        pause_cpu();
      }
      const Clock::time_point now = Clock::now();
      if (!end) end = now + spin;
      if (now >= *end) return value() != old;
    }
  }
  std::uint32_t* word() { return reinterpret_cast<std::uint32_t*>(&value_); }

  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> n_sleepers_{0};
};

int usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return static_cast<int>(std::thread::hardware_concurrency());
  }
  return CPU_COUNT(&set);
}

}  // namespace

struct ThreadPool::State {
  int n_threads = 1;
  Clock::duration spin = kSpin;
  Gate start;     // moves when a body is ready, and once more at the end
  Gate released;  // moves when all have arrived
  alignas(64) std::atomic<int> n_arrived{0};
  const FunctionRef<void(int)>* body = nullptr;
  bool stop = false;
  std::vector<std::thread> workers;

  /// Counts the caller in. The last to arrive runs `serial` and lets the others go; true for it.
  bool arrive(const FunctionRef<void()>* serial) {
    if (n_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != n_threads) return false;
    if (serial != nullptr) (*serial)();
    n_arrived.store(0, std::memory_order_relaxed);
    released.advance();
    return true;
  }
  void arrive_and_wait(const FunctionRef<void()>* serial) {
    const std::uint32_t generation = released.value();
    if (!arrive(serial)) released.wait_while(generation, spin);
  }
  void work(int thread) {
    std::uint32_t seen = 0;
    while (true) {
      start.wait_while(seen, spin);
      ++seen;
      if (stop) return;
      (*body)(thread);
      arrive(nullptr);
    }
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  MINFER_CHECK(n_threads >= 1);
  state_->n_threads = n_threads;
  if (n_threads > usable_processors()) state_->spin = kSpinOversubscribed;
  try {
    for (int thread = 1; thread < n_threads; ++thread) {
      state_->workers.emplace_back([state = state_.get(), thread] { state->work(thread); });
    }
  } catch (const std::system_error&) {
    // The system gives no more threads (ulimit -u, ulimit -v): those that started do the work.
    state_->n_threads = 1 + static_cast<int>(state_->workers.size());
  }
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->start.advance();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::size() const { return state_->n_threads; }

void ThreadPool::run(FunctionRef<void(int)> body) {
  if (state_->n_threads == 1) {
    body(0);
    return;
  }
  state_->body = &body;
  state_->start.advance();
  body(0);
  // The workers go straight back to `start`; only the caller waits for all to be done.
  state_->arrive_and_wait(nullptr);
}

void ThreadPool::barrier(FunctionRef<void()> serial) { state_->arrive_and_wait(&serial); }
void ThreadPool::barrier() { state_->arrive_and_wait(nullptr); }

}  // namespace minfer
