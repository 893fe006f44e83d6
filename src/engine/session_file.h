// SessionFile: a conversation on disk: messages, tokens and the rows of their KV.
//
// One append-only file (docs/sessions.md). A turn appends what it added and syncs; a crash or a
// full disk loses at most the turn that was being written. Opening changes nothing. Owns: the open
// file and its lock: one process at a time has a session, any number read it as a prefix. A new
// session's file is there, empty, from open() on, and goes again if nothing is saved. Invariants:
// at each moment there is a whole file of the last turn that was saved, under the session's name; a
// file of more than half dead bytes, or one that cannot be appended to (of another model, damaged),
// is replaced by a new one that was complete before. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/session_format.h"
#include "engine/session_identity.h"
#include "engine/session_scan.h"
#include "plan/kv_rows.h"

namespace minfer::engine {

class SessionFile {
 public:
  enum class Mode : std::uint8_t {
    kSession,   // made where there is none, locked, to be committed to
    kReadOnly,  // as it is now; no lock
  };

  /// Errors name the path: a file that is no session file, or whose beginning is damaged
  /// (kCorrupt); a directory, device or pipe; one that another process has open
  /// (kIo); kNotFound (read-only). Such a file is left as it is.
  static Result<std::unique_ptr<SessionFile>> open(const std::string& path,
                                                   const SessionIdentity& identity, Mode mode);
  ~SessionFile();

  /// As of the last turn that was saved; empty for a new file.
  [[nodiscard]] const SessionState& state() const;
  /// Why the saved rows cannot be used (another model, KV type, ...): state() then has messages and
  /// extra alone, and the file keeps the old rows until the next commit(). Empty: they can.
  [[nodiscard]] const std::string& refusal() const;

  /// Appends the saved rows of the first `n` tokens of the stream (all: its length) to `to`, which
  /// must be empty; their hashes are checked on the way. The result is how many are there: fewer
  /// where the file is damaged; the caller runs state().stream from there on. kOutOfRange: they do
  /// not fit, and nothing has changed.
  Result<std::int32_t> restore_rows(plan::KvRows& to, std::int32_t n);

  /// Saves a turn: writes what `state` and `rows` have more or other than the last commit, and
  /// syncs. rows.length() must be state.stream.size(). On error (a full disk, ...) the file is as
  /// it was, and the next commit writes this turn too.
  Status commit(const SessionState& state, plan::KvRows& rows);

  /// Bytes written by commits so far.
  [[nodiscard]] std::uint64_t bytes_written() const;

 private:
  struct Impl;
  explicit SessionFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace minfer::engine
