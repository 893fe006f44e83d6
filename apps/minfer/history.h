// History: what was typed in earlier chats, in a file of its own.
//
// Owns: the entries in memory, oldest first. The file has one entry a line, `\n` and `\\` for line
// breaks and backslashes, mode 0600. Several programs may use it at once: lines are appended under
// a lock, and only a file that is far over the limit is written anew, whole or not at all.
// Invariants: no entry stands twice; an entry is well-formed UTF-8.
// Thread-safety: none; one thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace minfer::app {

/// $XDG_STATE_HOME/minfer/history, or ~/.local/state/minfer/history; empty without a home.
std::string history_path();

class History {
 public:
  static constexpr std::size_t kMaxEntries = 1000;
  static constexpr std::size_t kMaxEntryBytes = std::size_t{1} << 16;

  /// Entries of this run alone.
  History() = default;
  /// Reads the file, which need not exist. Lines that are no entries are left out. Errors: a file
  /// that is there and cannot be read; the history then has no file.
  static Result<History> open(std::string path);

  [[nodiscard]] std::span<const std::string> entries() const { return entries_; }

  /// Adds an entry as the newest and appends it to the file. Empty entries, the newest once more,
  /// and entries over kMaxEntryBytes are left out. Errors: of the file; the entry is in memory.
  Status add(const std::string& entry);

 private:
  void insert(std::string entry);
  Status append(const std::string& line);

  std::string path_;
  std::vector<std::string> entries_;
};

}  // namespace minfer::app
