#include "terminal_mode.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "signals.h"

namespace minfer::app {
namespace {

termios g_original;
std::atomic<bool> g_open{false};
std::atomic<TerminalMode> g_mode{TerminalMode::kOriginal};
std::atomic<bool> g_resized{false};
std::atomic<bool> g_resumed{false};

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};
std::array<struct sigaction, kCrashes.size()> g_before_crash;

termios settings_of(TerminalMode mode) {
  termios settings = g_original;
  if (mode == TerminalMode::kOriginal) return settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ECHONL | IEXTEN);
  settings.c_lflag |= NOFLSH;  // Ctrl+C throws away neither what was shown nor what was typed
  settings.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  if (mode == TerminalMode::kEditing) settings.c_lflag &= ~static_cast<tcflag_t>(ISIG);
  return settings;
}

void tell(const char* sequence) {
  const ssize_t ignored = ::write(STDOUT_FILENO, sequence, std::strlen(sequence));
  static_cast<void>(ignored);
}

/// Whether this process may set the terminal without being stopped for it.
bool in_foreground() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

void apply(TerminalMode before, TerminalMode mode) {
  if (!in_foreground()) return;
  const termios settings = settings_of(mode);
  // Not behind what was written: a terminal that takes no output must not keep a signal waiting.
  while (::tcsetattr(STDIN_FILENO, TCSANOW, &settings) != 0 && errno == EINTR) {
  }
  const bool pastes = mode != TerminalMode::kOriginal;
  if (pastes != (before != TerminalMode::kOriginal)) {
    tell(pastes ? "\x1b[?2004h" : "\x1b[?2004l");
  }
}

void on_resize(int) {
  g_resized.store(true);
  wake();
}

void on_continue(int) {
  const int error = errno;
  apply(TerminalMode::kOriginal, g_mode.load());
  g_resumed.store(true);
  wake();
  errno = error;
}

void handle(int signal, void (*handler)(int), struct sigaction* before = nullptr) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, before);
}

void on_stop(int signal) {
  const int error = errno;
  apply(g_mode.load(), TerminalMode::kOriginal);
  handle(signal, SIG_DFL);
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, signal);
  ::raise(signal);
  sigprocmask(SIG_UNBLOCK, &stop, &before);  // stops here, until it is continued
  sigprocmask(SIG_SETMASK, &before, nullptr);
  handle(signal, on_stop);
  errno = error;
}

void on_crash(int signal) {
  restore_terminal();
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    if (kCrashes[i] == signal) sigaction(signal, &g_before_crash[i], nullptr);
  }
  ::raise(signal);
}

}  // namespace

bool open_terminal() {
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb") return false;
  if (::tcgetattr(STDIN_FILENO, &g_original) != 0) return false;
  g_open.store(true);
  handle(SIGWINCH, on_resize);
  handle(SIGTSTP, on_stop);
  handle(SIGCONT, on_continue);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    handle(kCrashes[i], on_crash, &g_before_crash[i]);
  }
  end_on_hangup();
  set_last_act(restore_terminal);
  std::atexit(restore_terminal);
  return true;
}

void set_terminal_mode(TerminalMode mode) {
  if (g_open.load()) apply(g_mode.exchange(mode), mode);
}

void restore_terminal() {
  if (!g_open.load()) return;
  const TerminalMode before = g_mode.exchange(TerminalMode::kOriginal);
  if (before != TerminalMode::kOriginal) apply(before, TerminalMode::kOriginal);
}

void suspend_process() { ::raise(SIGTSTP); }

bool take_resized() { return g_resized.exchange(false); }
bool take_resumed() { return g_resumed.exchange(false); }

TerminalSize terminal_size() {
  winsize size{};
  TerminalSize result;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_row > 0) result.rows = size.ws_row;
  if (size.ws_col > 0) result.columns = size.ws_col;
  return result;
}

}  // namespace minfer::app
