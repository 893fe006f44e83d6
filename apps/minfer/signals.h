// Ctrl+C and SIGTERM: the first asks the running forward to stop, the second ends at once.
//
// Owns: the process's handlers of SIGINT and SIGTERM. A handler has no context argument, so the
// flag and the pointers it uses are the one piece of global state of the program.
#pragma once

#include <atomic>
#include <cstddef>

namespace minfer::engine {
class Session;
}
namespace minfer::plan {
class Forward;
}

namespace minfer::app {

/// Installs the handlers and ignores SIGPIPE. Until a StopTarget lives, a signal ends the process
/// at once with 128 + its number: while loading there is nothing to save.
void install_signal_handlers();

/// What the handlers write to stderr before they end the process, to leave the terminal's line
/// clean: a literal, or null for nothing.
void set_farewell(const char* text);

/// While it lives, a signal that ends the process writes how long it took so far and where it was
/// stopped, in place of a summary. One at a time.
class StopNote {
 public:
  /// `doing`: a literal, as in "stopped while loading"; null: no note.
  explicit StopNote(const char* doing);
  ~StopNote();
  StopNote(const StopNote&) = delete;
  StopNote& operator=(const StopNote&) = delete;
};

/// What they call before they end the process, to leave the terminal as it was; must be safe in a
/// signal handler.
void set_last_act(void (*act)());

/// Whether Ctrl+C, however often, only asks to stop while a StopTarget lives: for a chat, where it
/// is pressed in haste and much would be lost.
void set_patient(bool patient);

/// Treats a hangup of the terminal like SIGTERM, unless it is ignored (nohup).
void end_on_hangup();

/// The signal that arrived, or 0.
int received_signal();
/// The same, and forgets it: what was stopped was dealt with, another may come.
int take_signal();

/// True once a signal asked to stop.
const std::atomic<bool>& stop_flag();

/// For a loop that waits for input and for signals, whichever thread gets them: clear_wake(), look
/// at what signals left, then poll with wake_descriptor(), which is readable after a wake().
/// Handlers call wake(); it is safe in them.
int wake_descriptor();
void wake();
void clear_wake();

/// While it lives, a signal cancels this forward instead of ending the process. Two may live at
/// once: of a model and of its draft.
class StopTarget {
 public:
  explicit StopTarget(plan::Forward& forward);
  explicit StopTarget(engine::Session& session);
  ~StopTarget();
  StopTarget(const StopTarget&) = delete;
  StopTarget& operator=(const StopTarget&) = delete;

 private:
  std::size_t slot_ = 0;
};

}  // namespace minfer::app
