#include "signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

#include "engine/session.h"

namespace minfer::app {
namespace {

std::atomic<int> g_signal{0};
std::atomic<bool> g_stop{false};
std::array<std::atomic<plan::Forward*>, 2> g_forwards{};
std::atomic<const char*> g_farewell{nullptr};
std::atomic<void (*)()> g_last_act{nullptr};
std::atomic<bool> g_patient{false};
std::atomic<int> g_wake_read{-1};
std::atomic<int> g_wake_write{-1};
std::atomic<const char*> g_doing{nullptr};
std::atomic<std::int64_t> g_doing_since{0};  // hundredths of a second
static_assert(std::atomic<plan::Forward*>::is_always_lock_free);

// What a signal handler may do.

std::int64_t now_hundredths() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 100 + now.tv_nsec / 10'000'000;
}

void tell(const char* text, std::size_t size) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, size);
  static_cast<void>(ignored);
}

/// "Total: 1.23 s | stopped while loading".
void write_stop_note() {
  const char* doing = g_doing.load();
  if (doing == nullptr) return;
  std::int64_t hundredths = now_hundredths() - g_doing_since.load();
  std::array<char, 24> digits;
  std::size_t at = digits.size();
  for (int place = 0; place < 3 || hundredths > 0; ++place) {
    if (place == 2) digits[--at] = '.';
    digits[--at] = static_cast<char>('0' + hundredths % 10);
    hundredths /= 10;
  }
  constexpr std::string_view kTotal = "Total: ";
  constexpr std::string_view kSeconds = " s | ";
  tell(kTotal.data(), kTotal.size());
  tell(digits.data() + at, digits.size() - at);
  tell(kSeconds.data(), kSeconds.size());
  tell(doing, std::strlen(doing));
  tell("\n", 1);
}

void on_signal(int signal) {
  const bool running = std::any_of(g_forwards.begin(), g_forwards.end(),
                                   [](const auto& forward) { return forward.load() != nullptr; });
  const bool again = g_signal.load() != 0 && !(signal == SIGINT && g_patient.load());
  if (!running || again) {
    if (const char* text = g_farewell.load(); text != nullptr) tell(text, std::strlen(text));
    write_stop_note();
    if (const auto act = g_last_act.load(); act != nullptr) act();
    _exit(128 + signal);
  }
  if (g_signal.load() == 0 || signal != SIGINT) g_signal.store(signal);
  g_stop.store(true);
  for (const auto& forward : g_forwards) {
    if (plan::Forward* f = forward.load(); f != nullptr) f->request_cancel();
  }
  wake();
}

}  // namespace

void install_signal_handlers() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
    g_wake_read.store(ends[0]);
    g_wake_write.store(ends[1]);
  }
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a failed write says it
  std::signal(SIGXFSZ, SIG_IGN);
}

void set_farewell(const char* text) { g_farewell.store(text); }
void set_last_act(void (*act)()) { g_last_act.store(act); }

void set_patient(bool patient) { g_patient.store(patient); }

void end_on_hangup() {
  struct sigaction action{};
  sigaction(SIGHUP, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;
  sigaction(SIGHUP, &action, nullptr);
}

int received_signal() { return g_signal.load(); }

int take_signal() {
  g_stop.store(false);
  return g_signal.exchange(0);
}
const std::atomic<bool>& stop_flag() { return g_stop; }

int wake_descriptor() { return g_wake_read.load(); }

void wake() {
  const int error = errno;
  const ssize_t ignored = ::write(g_wake_write.load(), "", 1);
  static_cast<void>(ignored);
  errno = error;
}

void clear_wake() {
  char bytes[64];
  while (::read(g_wake_read.load(), bytes, sizeof bytes) > 0) {
  }
}

StopNote::StopNote(const char* doing) {
  g_doing_since.store(now_hundredths());
  g_doing.store(doing);
}
StopNote::~StopNote() { g_doing.store(nullptr); }

StopTarget::StopTarget(plan::Forward& forward) {
  while (slot_ < g_forwards.size() && g_forwards[slot_].load() != nullptr) ++slot_;
  MINFER_CHECK(slot_ < g_forwards.size());
  g_forwards[slot_].store(&forward);
}
StopTarget::StopTarget(engine::Session& session) : StopTarget(session.forward()) {}
StopTarget::~StopTarget() { g_forwards[slot_].store(nullptr); }

}  // namespace minfer::app
