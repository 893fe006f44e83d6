#include "engine/session_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/hashing.h"

namespace minfer::engine {
namespace {

constexpr std::string_view kMagic = "minferKV";
constexpr std::size_t kHashedHeadBytes = kRecordHeadBytes - sizeof(std::uint64_t);

std::uint64_t head_seed(std::uint64_t file_id, std::uint64_t offset) {
  return Hasher(file_id).add(offset).digest();
}

template <class T>
void put(std::string& to, T value) {
  char bytes[sizeof(T)];
  store_le(bytes, value);
  to.append(bytes, sizeof bytes);
}

void put_ids(std::string& to, std::span<const TokenId> ids) {
  put(to, static_cast<std::uint64_t>(ids.size()));
  for (const TokenId id : ids) put(to, id);
}

void put_text(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint64_t>(text.size()));
  to += text;
}

/// Reads a payload from front to back; after the first thing that is not there, nothing is.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::int32_t n_vocab)
      : bytes_(bytes), n_vocab_(n_vocab) {}

  std::uint64_t number() {
    if (bytes_.size() < sizeof(std::uint64_t)) return fail(), 0;
    const auto value = load_le<std::uint64_t>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  /// How many things of at least `least_bytes` follow.
  std::uint64_t count(std::size_t least_bytes) {
    const std::uint64_t n = number();
    if (n > bytes_.size() / least_bytes) return fail(), 0;
    return n;
  }
  std::vector<TokenId> ids() {
    std::vector<TokenId> ids(count(sizeof(TokenId)));
    for (TokenId& id : ids) {
      id = load_le<TokenId>(bytes_.data());
      bytes_ = bytes_.subspan(sizeof id);
      if (id < 0 || id >= n_vocab_) fail();
    }
    return ok_ ? ids : std::vector<TokenId>();
  }
  std::string text() {
    const std::uint64_t n = count(1);
    std::string text(as_text(bytes_.first(n)));
    bytes_ = bytes_.subspan(n);
    return text;
  }
  /// All was there, and nothing is left.
  [[nodiscard]] bool complete() const { return ok_ && bytes_.empty(); }

 private:
  void fail() { ok_ = false; }

  std::span<const std::byte> bytes_;
  std::int32_t n_vocab_;
  bool ok_ = true;
};

}  // namespace

void put_file_head(std::span<std::byte> to, std::uint64_t file_id) {
  MINFER_CHECK(to.size() == kFileHeadBytes);
  std::memcpy(to.data(), kMagic.data(), kMagic.size());
  store_le(&to[8], kSessionFormatVersion);
  store_le(&to[12], std::uint32_t{0});
  store_le(&to[16], file_id);
}

Result<std::uint64_t> read_file_head(std::span<const std::byte> from) {
  if (from.size() < kFileHeadBytes || as_text(from.first(kMagic.size())) != kMagic) {
    return corrupt("is no session file");
  }
  const auto version = load_le<std::uint32_t>(&from[8]);
  if (version != kSessionFormatVersion || load_le<std::uint32_t>(&from[12]) != 0) {
    return unsupported(fmt::format("is of session format {}; this version knows {}", version,
                                   kSessionFormatVersion));
  }
  return load_le<std::uint64_t>(&from[16]);
}

std::uint64_t payload_hash(std::span<const std::byte> payload, std::uint64_t file_id) {
  return hash64(payload, file_id);
}

void put_record_head(std::span<std::byte> to, const RecordHead& head, std::uint64_t file_id,
                     std::uint64_t offset) {
  MINFER_CHECK(to.size() >= kRecordHeadBytes);
  store_le(&to[0], static_cast<std::uint32_t>(head.kind));
  store_le(&to[4], head.first);
  store_le(&to[8], head.count);
  store_le(&to[12], std::uint32_t{0});
  store_le(&to[16], head.payload_bytes);
  store_le(&to[24], head.payload_hash);
  store_le(&to[32], hash64(to.first(kHashedHeadBytes), head_seed(file_id, offset)));
}

std::optional<RecordHead> read_record_head(std::span<const std::byte> from, std::uint64_t file_id,
                                           std::uint64_t offset) {
  if (from.size() < kRecordHeadBytes) return std::nullopt;
  const std::uint64_t hash = hash64(from.first(kHashedHeadBytes), head_seed(file_id, offset));
  if (load_le<std::uint64_t>(&from[32]) != hash) return std::nullopt;
  return RecordHead{.kind = static_cast<RecordKind>(load_le<std::uint32_t>(&from[0])),
                    .first = load_le<std::uint32_t>(&from[4]),
                    .count = load_le<std::uint32_t>(&from[8]),
                    .payload_bytes = load_le<std::uint64_t>(&from[16]),
                    .payload_hash = load_le<std::uint64_t>(&from[24])};
}

std::string commit_payload(const SessionState& before, const SessionState& after,
                           std::size_t n_kept) {
  std::string bytes;
  put_ids(bytes, std::span(after.stream).subspan(n_kept));
  put_ids(bytes, after.pending);
  const auto changed =
      std::ranges::mismatch(before.messages, after.messages).in2 - after.messages.begin();
  put(bytes, static_cast<std::uint64_t>(changed));
  put(bytes,
      static_cast<std::uint64_t>(after.messages.size()) - static_cast<std::uint64_t>(changed));
  for (auto at = after.messages.begin() + changed; at != after.messages.end(); ++at) {
    put_text(bytes, *at);
  }
  put_text(bytes, after.extra);
  return bytes;
}

Status apply_commit(const RecordHead& head, std::span<const std::byte> payload,
                    std::int32_t n_vocab, SessionState& state) {
  Reader reader(payload, n_vocab);
  const std::vector<TokenId> ids = reader.ids();
  std::vector<TokenId> pending = reader.ids();
  const std::uint64_t n_messages_kept = reader.number();
  std::vector<std::string> messages(reader.count(sizeof(std::uint64_t)));
  for (std::string& message : messages) message = reader.text();
  std::string extra = reader.text();
  if (!reader.complete()) return corrupt("a commit is not what it says");
  if (head.first > state.stream.size() || head.count < head.first ||
      head.count - head.first != ids.size() || head.count > INT32_MAX ||
      n_messages_kept > state.messages.size()) {
    return corrupt("a commit does not fit the turns before it");
  }
  state.stream.resize(head.first);
  state.stream.insert(state.stream.end(), ids.begin(), ids.end());
  state.pending = std::move(pending);
  state.messages.resize(n_messages_kept);
  std::ranges::move(messages, std::back_inserter(state.messages));
  state.extra = std::move(extra);
  return ok_status();
}

}  // namespace minfer::engine
