// session_scan: what a session file holds, found without trusting a byte of it.
//
// Owns: nothing. The state is that of the last whole turn; of its rows only the places are found,
// their hashes are checked where they are read.
// Invariants: a length or count is used only once the hash of its record's head holds and the bytes
// are there; nothing larger than what is left of the file is allocated for a record.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/session_format.h"
#include "engine/session_identity.h"

namespace minfer::engine {

/// A file's bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// All of `to` from `offset` on; kIo where that cannot be.
  [[nodiscard]] virtual Status read(std::uint64_t offset, std::span<std::byte> to) const = 0;
};

/// Rows of one record that count: the first `n` of the `n_packed` that it holds.
struct SavedRows {
  std::int32_t first = 0;
  std::int32_t n = 0;
  std::int32_t n_packed = 0;
  std::uint64_t offset = 0;  // of the payload
  std::uint64_t hash = 0;    // of the payload
};

struct SessionScan {
  std::uint64_t file_id = 0;
  /// Behind the last whole turn; what follows is to be overwritten.
  std::uint64_t end = 0;
  SessionState state;
  /// Ascending and without gaps from position 0 on, as far as they go.
  std::vector<SavedRows> rows;
  /// Why the rows, and with them stream and pending, cannot be used: the state then holds only
  /// messages and extra. Empty: they can.
  std::string refusal;
  /// What follows `end` is more than a turn that was not finished: it holds something that was
  /// lost.
  bool damaged = false;
};

/// Errors: those of read_file_head(); kCorrupt: nothing can be read behind the head; kIo.
Result<SessionScan> scan_session(const ByteSource& file, const SessionIdentity& identity);

/// Forgets rows from position n on.
void trim_rows(std::vector<SavedRows>& rows, std::int32_t n);
/// Positions that `rows` cover.
std::int32_t end_of_rows(std::span<const SavedRows> rows);

}  // namespace minfer::engine
