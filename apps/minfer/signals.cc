#include "signals.h"

#include <unistd.h>

#include <csignal>

#include "engine/session.h"

namespace minfer::app {
namespace {

std::atomic<int> g_signal{0};
std::atomic<bool> g_stop{false};
std::atomic<engine::Session*> g_session{nullptr};
static_assert(std::atomic<engine::Session*>::is_always_lock_free);

void on_signal(int signal) {
  engine::Session* session = g_session.load();
  if (session == nullptr || g_signal.load() != 0) _exit(128 + signal);
  g_signal.store(signal);
  g_stop.store(true);
  session->request_cancel();
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int received_signal() { return g_signal.load(); }
const std::atomic<bool>& stop_flag() { return g_stop; }

StopTarget::StopTarget(engine::Session& session) { g_session.store(&session); }
StopTarget::~StopTarget() { g_session.store(nullptr); }

}  // namespace minfer::app
