// session_format: the bytes of a session file (docs/sessions.md).
//
//   file    head, then records
//   head    "minferKV", u32 format version, u32 0, u64 file id
//   record  u32 kind, u32 first, u32 count, u32 0, u64 payload bytes, u64 hash of the payload,
//           u64 hash of the 32 bytes before it; payload
//
// All numbers are little-endian; hashes are XXH3-64, seeded with the file id, that of a record's
// head also with the record's place, so that bytes of another file or place are never taken for a
// record.
// Thread-safety: pure functions and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/logits_source.h"

namespace minfer::engine {

/// What a session is beside its rows of KV.
struct SessionState {
  /// Texts of the caller's own, the oldest first. A turn writes those from the first changed one
  /// on.
  std::vector<std::string> messages;
  /// The tokens whose rows are in the KV, and those decided but not run.
  std::vector<TokenId> stream, pending;
  /// The caller's own, written anew with every turn: keep it short.
  std::string extra;

  bool operator==(const SessionState&) const = default;
};

inline constexpr std::uint32_t kSessionFormatVersion = 1;
inline constexpr std::size_t kFileHeadBytes = 24;
inline constexpr std::size_t kRecordHeadBytes = 40;
/// A longer identity or commit is taken for damage: no conversation has so many messages.
inline constexpr std::uint64_t kMaxTextPayload = std::uint64_t{1} << 30;

enum class RecordKind : std::uint32_t {
  kIdentity = 1,  // text of engine/session_identity.h
  kRows = 2,      // packed rows of positions [first, first + count), in one page
  kCommit = 3,    // end of a turn: of the stream, `first` tokens stay and `count` is the new length
};

struct RecordHead {
  RecordKind kind{};
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t payload_hash = 0;
};

void put_file_head(std::span<std::byte> to, std::uint64_t file_id);
/// The file id. kCorrupt: no session file; kUnsupported: of another format version.
Result<std::uint64_t> read_file_head(std::span<const std::byte> from);

[[nodiscard]] std::uint64_t payload_hash(std::span<const std::byte> payload, std::uint64_t file_id);
/// `offset`: where in the file the record begins.
void put_record_head(std::span<std::byte> to, const RecordHead& head, std::uint64_t file_id,
                     std::uint64_t offset);
/// Nothing where the bytes are no record's head.
std::optional<RecordHead> read_record_head(std::span<const std::byte> from, std::uint64_t file_id,
                                           std::uint64_t offset);

/// The payload of a commit that makes `after` of `before`, whose first `n_kept` tokens stay.
std::string commit_payload(const SessionState& before, const SessionState& after,
                           std::size_t n_kept);
/// Applies it to `state`. kCorrupt, with the state unchanged: counts that do not fit the bytes or
/// the state, or an id outside 0..n_vocab-1.
Status apply_commit(const RecordHead& head, std::span<const std::byte> payload,
                    std::int32_t n_vocab, SessionState& state);

}  // namespace minfer::engine
