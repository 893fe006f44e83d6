// sigbus.h: turns the SIGBUS of a mapped file that shrank into one line and exit status 1.
//
// Owns: the process's SIGBUS handler and a fixed table of watched address ranges. A signal handler
// has no context argument, so this table is the one piece of global state that base/ keeps.
// Invariants: the handler calls only async-signal-safe functions; a fault outside every watched
// range goes to the handler that was there before.
// Thread-safety: watch and unwatch may run on any thread at any time.
#pragma once

#include <cstddef>

namespace minfer {

/// Watches [begin, begin + size); `path` must stay valid until unwatch. Gives the entry's number,
/// or -1 where the table (1024 entries) is full: the range is then not watched.
int watch_mapping(const void* begin, std::size_t size, const char* path);

/// Forgets the entry `slot`; -1 does nothing.
void unwatch_mapping(int slot);

}  // namespace minfer
