// The terminal's mode while a chat runs, and its restoration whatever ends the program.
//
// Owns: the settings of the terminal on standard input, and the handlers of SIGWINCH, SIGTSTP,
// SIGCONT, SIGHUP and of the signals of a crash. A handler has no context argument, so this is
// global state, like that of signals.h.
// Invariants: a process that leaves, stops or crashes by a signal that can be handled leaves the
// terminal as it found it; one that goes on sets its mode again.
// Thread-safety: one thread; restore_terminal() from any signal handler.
#pragma once

#include <cstdint>

namespace minfer::app {

enum class TerminalMode : std::uint8_t {
  kOriginal,
  kEditing,  // every byte as it is typed and without an echo, pastes bracketed
  kBusy,     // a reply is being made: the same, but Ctrl+C and Ctrl+Z are signals
};

/// Takes hold of the terminal on standard input. False: there is none that can be edited on (no
/// terminal, or TERM is dumb or unset).
bool open_terminal();
void set_terminal_mode(TerminalMode mode);
/// The original mode. Safe in a signal handler.
void restore_terminal();
/// Stops the process as Ctrl+Z does; returns when it is continued.
void suspend_process();

/// True once after the terminal has changed its size, or the process was continued.
bool take_resized();
bool take_resumed();

struct TerminalSize {
  int rows = 24;
  int columns = 80;
};
TerminalSize terminal_size();

}  // namespace minfer::app
