// Any bytes as a session file: no crash, no undefined behaviour, and nothing found that is not
// there. The first byte chooses: the rest is a file as it is, or a list of records that get right
// hashes, so that what lies behind the hashes is reached too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "engine/session_scan.h"

namespace {

namespace engine = minfer::engine;

constexpr std::uint64_t kFileId = 0;  // so that zeros are a file id too
constexpr std::uint64_t kRowBytes = 4;

class Memory final : public engine::ByteSource {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] minfer::Status read(std::uint64_t offset, std::span<std::byte> to) const override {
    if (offset > bytes_.size() || to.size() > bytes_.size() - offset) __builtin_trap();
    std::ranges::copy(minfer::as_bytes(bytes_).subspan(offset, to.size()), to.begin());
    return minfer::ok_status();
  }

 private:
  std::string bytes_;
};

engine::SessionIdentity identity() {
  engine::SessionIdentity identity;
  identity.lines = {{"model", "Fake"}, {"KV type", "f16"}};
  identity.row_bytes = kRowBytes;
  identity.n_vocab = 300;
  return identity;
}

std::string record(engine::RecordHead head, std::string_view payload, std::uint64_t offset) {
  std::string bytes(engine::kRecordHeadBytes, '\0');
  head.payload_bytes = payload.size();
  head.payload_hash = engine::payload_hash(minfer::as_bytes(payload), kFileId);
  engine::put_record_head({reinterpret_cast<std::byte*>(bytes.data()), bytes.size()}, head, kFileId,
                          offset);
  return bytes + std::string(payload);
}

/// Records of (kind, first, count, length: a byte each; payload), one after the other.
std::string session_of(std::string_view records, const engine::SessionIdentity& identity) {
  std::string file(engine::kFileHeadBytes, '\0');
  engine::put_file_head({reinterpret_cast<std::byte*>(file.data()), file.size()}, kFileId);
  file +=
      record({.kind = engine::RecordKind::kIdentity}, engine::identity_text(identity), file.size());
  while (records.size() >= 4) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(records[i]); };
    const engine::RecordHead head{.kind = static_cast<engine::RecordKind>(byte(0)),
                                  .first = byte(1) == 255 ? UINT32_MAX : byte(1),
                                  .count = byte(2) == 255 ? UINT32_MAX : byte(2)};
    const std::size_t length = std::min<std::size_t>(byte(3), records.size() - 4);
    file += record(head, records.substr(4, length), file.size());
    records.remove_prefix(4 + length);
  }
  return file + std::string(records);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const engine::SessionIdentity kIdentity = identity();
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Memory file(data[0] % 2 == 0 ? std::string(rest) : session_of(rest, kIdentity));
  const auto scan = scan_session(file, kIdentity);
  if (!scan.ok()) return 0;
  if (scan->end > file.size() || scan->state.stream.size() > size) __builtin_trap();
  std::int32_t next = 0;
  for (const engine::SavedRows& rows : scan->rows) {
    const auto bytes = static_cast<std::uint64_t>(rows.n_packed) * kRowBytes;
    if (rows.first != next || rows.n < 1 || rows.n > rows.n_packed) __builtin_trap();
    if (rows.offset > scan->end || bytes > scan->end - rows.offset) __builtin_trap();
    next += rows.n;
  }
  if (static_cast<std::size_t>(next) > scan->state.stream.size()) __builtin_trap();
  for (const engine::TokenId id : scan->state.stream) {
    if (id < 0 || id >= kIdentity.n_vocab) __builtin_trap();
  }
  return 0;
}
