// A persistent pool of threads that run one body together, with barriers inside it.
//
// Invariants: thread 0 is the caller. Between bodies the workers spin for a short while, then park
// on a futex: an idle pool burns nothing. Barriers wait in the same way, so a pool with more
// threads than processors makes progress. One body runs at a time.
// Thread-safety: run() is called by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace minfer {

/// A reference to a callable that outlives the call it is passed to; never allocates.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

class ThreadPool {
 public:
  /// A pool of `n_threads` in all (>= 1); starts n_threads - 1, or as many as the system allows.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const;

  /// Runs body(thread) for thread = 0..size()-1, each on its own thread; returns when all are done.
  void run(FunctionRef<void(int)> body);

  /// Inside a body: waits until all threads of the pool are here. `serial`, if not null, is run by
  /// the last to arrive before any is released.
  void barrier(FunctionRef<void()> serial);
  void barrier();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How many threads to use, and why, for people.
struct ThreadChoice {
  int n_threads = 1;
  const char* reason = "";  // "affinity", "cgroup quota", "physical cores", "--threads"
};
/// min(affinity, floor of the cgroup quota, physical cores in the mask), at least 1.
ThreadChoice default_threads();
/// The same for the processors `cpus` (the affinity mask) of the machine whose /proc and /sys lie
/// under `root` ("" for this one).
ThreadChoice choose_threads(std::span<const int> cpus, const std::string& root);

}  // namespace minfer
