#include "base/sigbus.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace minfer {
namespace {

// A slot is free while `path` is null and claimed for filling while it is kClaimed; the handler
// looks only at slots whose `end` is set, which is written last.
struct Slot {
  std::atomic<const char*> path{nullptr};
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
};

constexpr const char* kClaimed = "";

std::array<Slot, 1024> slots;
struct sigaction previous;
std::atomic_flag speaking;

void write_all(const char* text) {
  std::size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t n = write(STDERR_FILENO, text, left);
    if (n <= 0) return;
    text += n;
    left -= static_cast<std::size_t>(n);
  }
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  // si_addr means something only where the kernel saw a fault, not where a process sent the signal.
  const bool is_fault = info->si_code > 0;
  for (const Slot& slot : slots) {
    if (!is_fault) break;
    if (address >= slot.end.load(std::memory_order_acquire)) continue;
    if (address < slot.begin.load(std::memory_order_relaxed)) continue;
    // Threads that read the same file may all fault at once: one speaks, the others wait for the
    // end.
    if (speaking.test_and_set()) {
      for (;;) pause();
    }
    write_all("minfer: ");
    write_all(slot.path.load(std::memory_order_relaxed));
    write_all(": the file changed or shrank while it was being read\n");
    _exit(1);
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // Both a repeated access and a signal sent again meet the default action on return.
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &standard, nullptr);
    raise(SIGBUS);
  }
}

void install_handler() {
  struct sigaction action{};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

}  // namespace

int watch_mapping(const void* begin, std::size_t size, const char* path) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const char* expected = nullptr;
    if (!slots[i].path.compare_exchange_strong(expected, kClaimed)) continue;
    slots[i].path.store(path, std::memory_order_relaxed);
    slots[i].begin.store(first, std::memory_order_relaxed);
    slots[i].end.store(first + size, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void unwatch_mapping(int slot) {
  if (slot < 0) return;
  Slot& entry = slots[static_cast<std::size_t>(slot)];
  entry.end.store(0, std::memory_order_release);
  entry.path.store(nullptr, std::memory_order_release);
}

}  // namespace minfer
