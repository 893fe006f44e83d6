#include "engine/session_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "base/bytes.h"
#include "engine/locked_file.h"

namespace minfer::engine {
namespace {

/// Dead bytes that are not worth a new file.
constexpr std::uint64_t kSpareBytes = 4096;

std::uint64_t new_file_id() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

/// The path behind links, so that a link stays when the file is replaced.
std::string resolved(const std::string& path) {
  std::error_code none;
  const std::filesystem::path target = std::filesystem::canonical(path, none);
  return none ? path : target.string();
}

std::int32_t length_of(const SessionState& state) {
  return static_cast<std::int32_t>(state.stream.size());
}

}  // namespace

struct SessionFile::Impl {
  std::string path;      // as given, for messages
  std::string resolved;  // behind links
  SessionIdentity identity;
  Mode mode{};
  LockedFile file;
  bool created = false;
  /// Nothing can be appended: the next commit makes a new file.
  bool must_replace = false;
  SessionScan saved;
  std::string buffer;  // of one record
  std::uint64_t bytes_written = 0;

  [[nodiscard]] Status named(const Status& status) const {
    return Status(status.code(), fmt::format("{} {}", path, status.message()));
  }

  Status load();
  Result<bool> restore(const SavedRows& rows, std::int32_t n, plan::KvRows& to);

  /// A file that is being written: where its records go and what they make of it.
  struct Target {
    LockedFile& file;
    std::uint64_t file_id;
    std::uint64_t end;
    std::vector<SavedRows> rows;
  };
  Status write_record(Target& target, RecordHead head);
  Status write_rows(Target& target, std::int32_t begin, plan::KvRows& rows);
  Status write_turn(Target& target, const SessionState& before, const SessionState& after,
                    std::int32_t n_kept, plan::KvRows& rows);
  Status append(const SessionState& state, plan::KvRows& rows);
  Status replace(const SessionState& state, plan::KvRows& rows);
  Status keep_damaged() const;
  [[nodiscard]] std::uint64_t live_bytes(const SessionState& state) const;
  [[nodiscard]] bool half_dead(const SessionState& state) const;
};

SessionFile::SessionFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SessionFile::~SessionFile() {
  Impl& s = *impl_;
  if (s.created && s.file.size() == 0 && s.file.is_at(s.resolved) == 1) {
    ::unlink(s.resolved.c_str());
  }
}

Result<std::unique_ptr<SessionFile>> SessionFile::open(const std::string& path,
                                                       const SessionIdentity& identity, Mode mode) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->identity = identity;
  impl->mode = mode;
  auto file = mode == Mode::kReadOnly ? LockedFile::open_to_read(path)
                                      : LockedFile::open_to_write(path, impl->created);
  if (!file.ok()) return impl->named(file.status());
  impl->file = std::move(*file);
  impl->resolved = resolved(path);
  if (Status status = impl->load(); !status.ok()) return impl->named(status);
  return std::unique_ptr<SessionFile>(new SessionFile(std::move(impl)));
}

Status SessionFile::Impl::load() {
  if (mode == Mode::kSession && file.size() == 0) {
    must_replace = true;
    return ok_status();
  }
  MINFER_ASSIGN_OR_RETURN(saved, scan_session(file, identity));
  must_replace = saved.damaged || !saved.refusal.empty();
  return ok_status();
}

const SessionState& SessionFile::state() const { return impl_->saved.state; }
const std::string& SessionFile::refusal() const { return impl_->saved.refusal; }
std::uint64_t SessionFile::bytes_written() const { return impl_->bytes_written; }

/// False: the record is damaged.
Result<bool> SessionFile::Impl::restore(const SavedRows& rows, std::int32_t n, plan::KvRows& to) {
  buffer.resize(static_cast<std::size_t>(rows.n_packed) * identity.row_bytes);
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(buffer.data()), buffer.size());
  MINFER_RETURN_IF_ERROR(file.read(rows.offset, bytes));
  if (payload_hash(bytes, saved.file_id) != rows.hash) return false;
  MINFER_RETURN_IF_ERROR(to.append(n, rows.n_packed, bytes));
  return true;
}

Result<std::int32_t> SessionFile::restore_rows(plan::KvRows& to, std::int32_t n) {
  Impl& s = *impl_;
  MINFER_CHECK(to.length() == 0 && n >= 0);
  n = std::min(n, length_of(s.saved.state));
  if (n > 0 && to.row_bytes() != s.identity.row_bytes) {
    return internal_error("a session's rows are not those of the KV");
  }
  if (n > to.capacity()) {
    return out_of_range(fmt::format("{} holds {} tokens, which do not fit in a context of {}",
                                    s.path, n, to.capacity()));
  }
  for (const SavedRows& rows : s.saved.rows) {
    if (rows.first >= n) break;
    auto good = s.restore(rows, std::min(rows.n, n - rows.first), to);
    if (!good.ok()) return s.named(good.status());
    if (!*good) {
      trim_rows(s.saved.rows, rows.first);
      break;
    }
  }
  return to.length();
}

/// Writes `buffer`: room for the head, and the payload.
Status SessionFile::Impl::write_record(Target& target, RecordHead head) {
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(buffer.data()), buffer.size());
  const std::span<std::byte> payload = bytes.subspan(kRecordHeadBytes);
  head.payload_bytes = payload.size();
  head.payload_hash = payload_hash(payload, target.file_id);
  put_record_head(bytes, head, target.file_id, target.end);
  MINFER_RETURN_IF_ERROR(target.file.write(target.end, buffer));
  if (head.kind == RecordKind::kRows) {
    const auto n = static_cast<std::int32_t>(head.count);
    target.rows.push_back({static_cast<std::int32_t>(head.first), n, n,
                           target.end + kRecordHeadBytes, head.payload_hash});
  }
  target.end += buffer.size();
  bytes_written += buffer.size();
  return ok_status();
}

Status SessionFile::Impl::write_rows(Target& target, std::int32_t begin, plan::KvRows& rows) {
  const std::int32_t end = rows.length();
  while (begin < end) {
    const std::int32_t n = plan::rows_in_page(begin, end);
    buffer.resize(kRecordHeadBytes + static_cast<std::size_t>(n) * identity.row_bytes);
    auto* bytes = reinterpret_cast<std::byte*>(buffer.data());
    const std::span<std::byte> payload(bytes + kRecordHeadBytes, buffer.size() - kRecordHeadBytes);
    if (Status status = rows.read(begin, n, payload); !status.ok()) {
      return status.with_context("cannot be written");
    }
    MINFER_RETURN_IF_ERROR(write_record(target, {.kind = RecordKind::kRows,
                                                 .first = static_cast<std::uint32_t>(begin),
                                                 .count = static_cast<std::uint32_t>(n)}));
    begin += n;
  }
  return ok_status();
}

Status SessionFile::Impl::write_turn(Target& target, const SessionState& before,
                                     const SessionState& after, std::int32_t n_kept,
                                     plan::KvRows& rows) {
  trim_rows(target.rows, n_kept);
  MINFER_RETURN_IF_ERROR(write_rows(target, n_kept, rows));
  buffer.assign(kRecordHeadBytes, '\0');
  buffer += commit_payload(before, after, static_cast<std::size_t>(n_kept));
  if (buffer.size() - kRecordHeadBytes > kMaxTextPayload) {
    return unsupported("cannot hold messages of more than a gigabyte");
  }
  MINFER_RETURN_IF_ERROR(
      write_record(target, {.kind = RecordKind::kCommit,
                            .first = static_cast<std::uint32_t>(n_kept),
                            .count = static_cast<std::uint32_t>(after.stream.size())}));
  return target.file.sync();
}

Status SessionFile::Impl::append(const SessionState& state, plan::KvRows& rows) {
  const auto kept = std::ranges::mismatch(saved.state.stream, state.stream).in1;
  const auto n_kept = static_cast<std::int32_t>(kept - saved.state.stream.begin());
  if (file.size() != saved.end) MINFER_RETURN_IF_ERROR(file.truncate(saved.end));
  Target target{file, saved.file_id, saved.end, saved.rows};
  if (Status status = write_turn(target, saved.state, state, n_kept, rows); !status.ok()) {
    // Should this fail too, the next one starts with it.
    static_cast<void>(file.truncate(saved.end));
    return status;
  }
  saved.end = target.end;
  saved.rows = std::move(target.rows);
  return ok_status();
}

/// Gives a damaged file another name beside its own, for whoever wants to look for what was lost.
Status SessionFile::Impl::keep_damaged() const {
  constexpr int kNames = 100;
  for (int i = 1; i <= kNames; ++i) {
    const std::string name = fmt::format("{}.damaged{}", resolved, i == 1 ? "" : std::to_string(i));
    if (::link(resolved.c_str(), name.c_str()) == 0) return ok_status();
    if (errno != EEXIST) break;
  }
  return io_error("is damaged, and cannot be kept under another name to make a new one");
}

Status SessionFile::Impl::replace(const SessionState& state, plan::KvRows& rows) {
  const std::string temporary = resolved + ".minfer-new";
  MINFER_ASSIGN_OR_RETURN(LockedFile fresh, LockedFile::create(temporary));
  const auto write = [&]() -> Result<Target> {
    Target target{fresh, new_file_id(), kFileHeadBytes, {}};
    buffer.assign(kFileHeadBytes, '\0');
    put_file_head({reinterpret_cast<std::byte*>(buffer.data()), buffer.size()}, target.file_id);
    MINFER_RETURN_IF_ERROR(fresh.write(0, buffer));
    bytes_written += buffer.size();
    buffer.assign(kRecordHeadBytes, '\0');
    buffer += identity_text(identity);
    MINFER_RETURN_IF_ERROR(write_record(target, {.kind = RecordKind::kIdentity}));
    MINFER_RETURN_IF_ERROR(write_turn(target, {}, state, 0, rows));
    if (saved.damaged) MINFER_RETURN_IF_ERROR(keep_damaged());
    MINFER_RETURN_IF_ERROR(replace_file(temporary, resolved));
    return target;
  };
  Result<Target> target = write();
  if (!target.ok()) {
    ::unlink(temporary.c_str());
    return target.status();
  }
  saved.file_id = target->file_id;
  saved.end = target->end;
  saved.rows = std::move(target->rows);
  saved.refusal.clear();
  saved.damaged = false;
  must_replace = false;
  file = std::move(fresh);
  return ok_status();
}

std::uint64_t SessionFile::Impl::live_bytes(const SessionState& state) const {
  std::uint64_t bytes = state.stream.size() * (identity.row_bytes + sizeof(TokenId)) +
                        state.pending.size() * sizeof(TokenId) + state.extra.size();
  for (const std::string& message : state.messages) bytes += message.size();
  return bytes;
}

/// Whether appending this turn would leave more than half of the file dead.
bool SessionFile::Impl::half_dead(const SessionState& state) const {
  const auto kept = std::ranges::mismatch(saved.state.stream, state.stream).in1;
  const auto n_new =
      state.stream.size() - static_cast<std::size_t>(kept - saved.state.stream.begin());
  const std::uint64_t appended = saved.end + n_new * identity.row_bytes;
  return appended > 2 * live_bytes(state) + kSpareBytes;
}

Status SessionFile::commit(const SessionState& state, plan::KvRows& rows) {
  Impl& s = *impl_;
  MINFER_CHECK(s.mode == Mode::kSession);
  if (rows.length() != length_of(state) || rows.row_bytes() != s.identity.row_bytes) {
    return internal_error("a session's stream is not what is in the KV");
  }
  const int there = s.file.is_at(s.resolved);
  if (there == 0) {
    return s.named(io_error("was replaced by another file, which is left alone"));
  }
  const bool was_cut = s.file.size() < s.saved.end;  // by somebody else
  const bool nothing_new = !s.must_replace && !was_cut && there == 1 && state == s.saved.state;
  if (nothing_new) return ok_status();
  const bool rows_lost = end_of_rows(s.saved.rows) < length_of(s.saved.state);
  const bool must_replace = s.must_replace || was_cut || rows_lost || there < 0;
  const bool wants_replace = must_replace || s.half_dead(state);
  Status status = wants_replace ? s.replace(state, rows) : s.append(state, rows);
  // Room for a second file may be lacking where that for a turn is not.
  if (!status.ok() && wants_replace && !must_replace) status = s.append(state, rows);
  if (!status.ok()) return s.named(status);
  s.saved.state = state;
  return ok_status();
}

}  // namespace minfer::engine
