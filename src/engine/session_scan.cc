#include "engine/session_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/bytes.h"
#include "plan/kv_rows.h"

namespace minfer::engine {
namespace {

/// A longer tail is no turn that was not finished.
constexpr std::uint64_t kMostZeros = std::uint64_t{1} << 32;

class Scanner {
 public:
  Scanner(const ByteSource& file, const SessionIdentity& identity)
      : file_(file), identity_(identity) {}

  Result<SessionScan> operator()() {
    std::array<std::byte, kFileHeadBytes> head{};
    if (file_.size() < head.size()) return corrupt("is no session file");
    MINFER_RETURN_IF_ERROR(file_.read(0, head));
    MINFER_ASSIGN_OR_RETURN(scan_.file_id, read_file_head(head));
    at_ = kFileHeadBytes;
    MINFER_RETURN_IF_ERROR(read_identity());
    scan_.end = at_;
    while (at_ < file_.size()) {
      MINFER_ASSIGN_OR_RETURN(const bool more, read_record());
      if (!more) break;
    }
    if (!scan_.refusal.empty()) {
      scan_.state.stream.clear();
      scan_.state.pending.clear();
      scan_.rows.clear();
    }
    return std::move(scan_);
  }

 private:
  /// The head of the record at `at_`; nothing where there is none or its payload is cut short.
  Result<std::optional<RecordHead>> read_head() {
    std::array<std::byte, kRecordHeadBytes> bytes{};
    if (left() < bytes.size()) return std::optional<RecordHead>();
    MINFER_RETURN_IF_ERROR(file_.read(at_, bytes));
    return read_record_head(bytes, scan_.file_id, at_);
  }

  /// The payload of the record at `at_`, whose length was checked; nothing where its hash is wrong.
  Result<std::optional<std::vector<std::byte>>> read_payload(const RecordHead& head) {
    std::vector<std::byte> payload(head.payload_bytes);
    MINFER_RETURN_IF_ERROR(file_.read(at_ + kRecordHeadBytes, payload));
    if (payload_hash(payload, scan_.file_id) != head.payload_hash) {
      return std::optional<std::vector<std::byte>>();
    }
    return std::optional(std::move(payload));
  }

  Status read_identity() {
    MINFER_ASSIGN_OR_RETURN(const auto head, read_head());
    if (!head || head->kind != RecordKind::kIdentity || !fits(*head) ||
        head->payload_bytes > kMaxTextPayload) {
      return corrupt("is damaged at its beginning");
    }
    MINFER_ASSIGN_OR_RETURN(const auto payload, read_payload(*head));
    at_ += kRecordHeadBytes + head->payload_bytes;
    const auto lines = payload ? parse_identity(as_text(*payload))
                               : Result<std::vector<SessionIdentity::Line>>(corrupt("damaged"));
    scan_.refusal = lines.ok() ? identity_difference(*lines, identity_)
                               : "what it says of its model is damaged";
    return ok_status();
  }

  /// False: the file ends here, or nothing behind this place can be used.
  Result<bool> read_record() {
    MINFER_ASSIGN_OR_RETURN(const auto head, read_head());
    if (!head) {
      MINFER_ASSIGN_OR_RETURN(scan_.damaged, holds_more_than_zeros());
      return false;
    }
    if (!fits(*head)) return false;  // a torn tail
    const std::uint64_t next = at_ + kRecordHeadBytes + head->payload_bytes;
    bool good = false;
    if (head->kind == RecordKind::kRows) {
      good = take_rows(*head);
    } else if (head->kind == RecordKind::kCommit) {
      MINFER_ASSIGN_OR_RETURN(good, take_commit(*head));
      if (good) scan_.end = next;
    }
    if (!good) {
      scan_.damaged = next < file_.size();
      return false;
    }
    at_ = next;
    return true;
  }

  bool take_rows(const RecordHead& head) {
    if (!scan_.refusal.empty()) return true;  // rows of another size
    const auto first = static_cast<std::int32_t>(std::min(head.first, std::uint32_t{INT32_MAX}));
    if (head.count == 0 || head.count > static_cast<std::uint32_t>(backend::kPageRows) ||
        first > INT32_MAX - backend::kPageRows) {
      return false;
    }
    const auto n = static_cast<std::int32_t>(head.count);
    if (plan::rows_in_page(first, first + n) != n ||
        head.payload_bytes != head.count * identity_.row_bytes) {
      return false;
    }
    turn_.push_back({first, n, n, at_ + kRecordHeadBytes, head.payload_hash});
    return true;
  }

  Result<bool> take_commit(const RecordHead& head) {
    if (head.payload_bytes > kMaxTextPayload) return false;
    MINFER_ASSIGN_OR_RETURN(const auto payload, read_payload(head));
    const std::int32_t n_vocab = scan_.refusal.empty() ? identity_.n_vocab : INT32_MAX;
    if (!payload || !apply_commit(head, *payload, n_vocab, scan_.state).ok()) return false;
    trim_rows(scan_.rows, static_cast<std::int32_t>(head.first));
    // Rows behind a gap, as a record that was lost leaves it, are of no use.
    for (const SavedRows& rows : turn_) {
      if (rows.first == end_of_rows(scan_.rows)) scan_.rows.push_back(rows);
    }
    trim_rows(scan_.rows, static_cast<std::int32_t>(head.count));
    turn_.clear();
    return true;
  }

  /// An unfinished turn may leave zeros; anything else was something.
  Result<bool> holds_more_than_zeros() {
    if (left() < kRecordHeadBytes) return false;
    std::vector<std::byte> bytes(std::min<std::uint64_t>(left(), std::uint64_t{1} << 16));
    for (std::uint64_t at = at_; at < file_.size(); at += bytes.size()) {
      if (at - at_ > kMostZeros) return true;
      bytes.resize(std::min<std::uint64_t>(bytes.size(), file_.size() - at));
      MINFER_RETURN_IF_ERROR(file_.read(at, bytes));
      if (std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; })) return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t left() const { return file_.size() - at_; }
  [[nodiscard]] bool fits(const RecordHead& head) const {
    return head.payload_bytes <= left() - kRecordHeadBytes;
  }

  const ByteSource& file_;
  const SessionIdentity& identity_;
  std::uint64_t at_ = 0;
  std::vector<SavedRows> turn_;  // of the turn that is being read
  SessionScan scan_;
};

}  // namespace

Result<SessionScan> scan_session(const ByteSource& file, const SessionIdentity& identity) {
  return Scanner(file, identity)();
}

void trim_rows(std::vector<SavedRows>& rows, std::int32_t n) {
  while (!rows.empty() && rows.back().first >= n) rows.pop_back();
  if (!rows.empty()) rows.back().n = std::min(rows.back().n, n - rows.back().first);
}

std::int32_t end_of_rows(std::span<const SavedRows> rows) {
  return rows.empty() ? 0 : rows.back().first + rows.back().n;
}

}  // namespace minfer::engine
