// Session files that are cut, damaged or made to deceive: refused or right, and nothing is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/bytes.h"
#include "engine/session_file.h"
#include "tests/engine/session_rig.h"

namespace minfer::tests {
namespace {

using engine::SessionFile;
using engine::SessionIdentity;
using engine::SessionState;
using testing::ElementsAre;
using testing::HasSubstr;
using Mode = SessionFile::Mode;

/// Some turns with rollbacks, and all states that were saved.
std::vector<SessionState> sample_session(const std::string& path) {
  std::vector<SessionState> states(1);
  auto file = opened(path);
  SessionState state;
  for (unsigned turn = 1; turn <= 6; ++turn) {
    if (turn == 4) state.stream.resize(70);
    add_turn(state, 30 * (turn % 3) + 5, turn);
    EXPECT_TRUE(commit(*file, state).ok());
    states.push_back(state);
  }
  return states;
}

/// Opens a file that was damaged: it is refused, or gives one of `states`, with rows that are right
/// as far as they go, and can be gone on with (tried if `go_on`: it takes its time). True: refused.
bool check_damaged(const Folder& folder, const std::vector<SessionState>& states, bool go_on) {
  const std::string before = bytes_of(folder.file());
  auto file = SessionFile::open(folder.file(), fake_identity(), Mode::kSession);
  EXPECT_EQ(bytes_of(folder.file()), before);
  if (!file.ok()) return true;
  SessionState state = (*file)->state();
  if (!(*file)->refusal().empty()) {
    EXPECT_TRUE(std::ranges::any_of(states, [&](const SessionState& s) {
      return s.messages == state.messages && s.extra == state.extra;
    }));
    return true;
  }
  EXPECT_THAT(states, testing::Contains(state));
  FakeRows rows, wanted;
  const auto n = (*file)->restore_rows(rows, INT32_MAX);
  EXPECT_TRUE(n.ok());
  wanted.run(std::span(state.stream).first(static_cast<std::size_t>(*n)));
  EXPECT_EQ(rows.rows(), wanted.rows());

  if (!go_on) return false;
  add_turn(state, 2, 9);
  const Status saved = commit(**file, state);
  EXPECT_TRUE(saved.ok()) << saved.message();
  *file = nullptr;
  // Nothing of the old tail is left behind a shorter turn.
  auto again = opened(folder.file());
  expect_holds(*again, state);
  state.extra += "!";
  EXPECT_TRUE(commit(*again, state).ok());
  return false;
}

TEST(SessionDamage, cut_at_any_length_it_holds_the_turns_before) {
  const Folder folder;
  const std::vector<SessionState> states = sample_session(folder.file());
  const std::string whole = bytes_of(folder.file());
  std::size_t refused = 0;
  for (std::size_t n = 1; n < whole.size(); ++n) {
    set_bytes(folder.file(), whole.substr(0, n));
    refused += check_damaged(folder, states, n % 16 == 0) ? 1 : 0;
    ASSERT_FALSE(testing::Test::HasFailure()) << n << " bytes of " << whole.size();
  }
  // Only without the record that says which model it is of.
  EXPECT_LT(refused, 150U);
  // A turn that was not finished is no reason to keep the file aside.
  EXPECT_THAT(folder.names(), ElementsAre("s.kv"));
}

TEST(SessionDamage, damaged_anywhere_it_is_refused_or_right_and_nothing_is_lost) {
  const Folder folder;
  const std::vector<SessionState> states = sample_session(folder.file());
  const std::string whole = bytes_of(folder.file());
  std::mt19937 rng(11);
  int restored = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = whole;
    const std::size_t at = rng() % whole.size();
    const std::size_t n = i % 2 == 0 ? 1 : 1 + rng() % 200;
    for (std::size_t k = at; k < std::min(at + n, whole.size()); ++k) {
      damaged[k] = static_cast<char>(damaged[k] ^ static_cast<char>(1 + rng() % 255));
    }
    set_bytes(folder.file(), damaged);
    const bool refused = check_damaged(folder, states, i % 4 == 0);
    restored += refused ? 0 : 1;
    ASSERT_FALSE(testing::Test::HasFailure()) << n << " bytes damaged at " << at;
    // What could not be read is still there, under its own or another name.
    const auto names = folder.names();
    const bool kept = std::ranges::any_of(
        names, [&](const std::string& name) { return bytes_of(folder.file(name)) == damaged; });
    const SessionState* last = &states.back();
    EXPECT_TRUE(kept || !refused);
    if (!refused && !kept) {
      // Then no turn was lost but the last.
      const auto now = opened(folder.file())->state();
      EXPECT_TRUE(now.messages.size() >= last->messages.size()) << "at " << at;
    }
    for (const std::string& name : names) std::filesystem::remove(folder.file(name));
  }
  EXPECT_GT(restored, 900);
}

TEST(SessionDamage, a_damaged_row_costs_the_rows_behind_it_and_no_text) {
  const Folder folder;
  SessionState state;
  add_turn(state, 300, 1);
  ASSERT_TRUE(commit(*opened(folder.file()), state).ok());
  std::string bytes = bytes_of(folder.file());
  FakeRows rows;
  rows.run(state.stream);
  const std::size_t at = bytes.find(rows.rows()[200]);
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  set_bytes(folder.file(), bytes);
  auto file = opened(folder.file());
  EXPECT_EQ(file->state(), state);
  FakeRows restored;
  EXPECT_EQ(*file->restore_rows(restored, INT32_MAX), 192);  // the pages before
  add_turn(state, 5, 2);
  ASSERT_TRUE(commit(*file, state).ok());
  file = nullptr;
  expect_holds(*opened(folder.file()), state);
  EXPECT_THAT(folder.names(), ElementsAre("s.kv"));
}

TEST(SessionDamage, a_file_of_bytes_that_lie_is_never_believed) {
  // Heads with right hashes and wrong numbers: what only a person can have made.
  const Folder folder;
  constexpr std::uint64_t kId = 77;
  const std::string text = identity_text(fake_identity());
  const auto record = [](engine::RecordHead head, std::string payload, std::size_t offset) {
    std::string bytes(engine::kRecordHeadBytes, '\0');
    head.payload_hash = engine::payload_hash(as_bytes(payload), kId);
    if (head.payload_bytes == 0) head.payload_bytes = payload.size();
    engine::put_record_head({reinterpret_cast<std::byte*>(bytes.data()), bytes.size()}, head, kId,
                            offset);
    return bytes + payload;
  };
  std::string start(engine::kFileHeadBytes, '\0');
  engine::put_file_head({reinterpret_cast<std::byte*>(start.data()), start.size()}, kId);
  start += record({.kind = engine::RecordKind::kIdentity}, text, start.size());
  const std::string huge("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  const std::string none(8, '\0');
  using Kind = engine::RecordKind;
  for (const auto& [head, payload] : std::vector<std::pair<engine::RecordHead, std::string>>{
           {{.kind = Kind::kCommit, .count = 1}, huge + huge},
           {{.kind = Kind::kCommit, .first = 5, .count = 5}, none + none + none + none + none},
           {{.kind = Kind::kCommit}, none + none + huge + none + none},
           {{.kind = Kind::kCommit}, none + none + none + huge},
           {{.kind = Kind::kCommit, .count = 7}, none + none + none + none + none},
           {{.kind = Kind::kCommit}, none + none + none + none + none + "more"},
           {{.kind = Kind::kCommit, .payload_bytes = UINT64_MAX}, none},
           {{.kind = Kind::kRows, .first = UINT32_MAX, .count = 1}, std::string(48, 'r')},
           {{.kind = Kind::kRows, .first = 63, .count = 2}, std::string(96, 'r')},
           {{.kind = Kind::kRows, .count = UINT32_MAX}, std::string(48, 'r')},
           {{.kind = Kind::kRows, .count = 2}, std::string(48, 'r')},
           {{.kind = Kind{99}}, "?"}}) {
    set_bytes(folder.file(), start + record(head, payload, start.size()));
    auto file = opened(folder.file());
    EXPECT_EQ(file->state(), SessionState());
    FakeRows rows;
    EXPECT_EQ(*file->restore_rows(rows, INT32_MAX), 0);
  }
  // Rows behind a gap: the tokens count, the rows do not.
  const std::string three = std::string("\3", 1) + std::string(7, '\0') + std::string(12, '\0');
  std::string gap = start + record({.kind = Kind::kRows, .first = 1, .count = 2},
                                   std::string(96, 'r'), start.size());
  gap += record({.kind = Kind::kCommit, .count = 3}, three + none + none + none + none, gap.size());
  set_bytes(folder.file(), gap);
  FakeRows rows;
  auto file = opened(folder.file());
  EXPECT_EQ(file->state().stream.size(), 3U);
  EXPECT_EQ(*file->restore_rows(rows, INT32_MAX), 0);
  file = nullptr;
  // An id outside the vocabulary.
  const std::string one = std::string("\1", 1) + std::string(7, '\0');
  const std::string id("\xe8\x03\0\0", 4);
  set_bytes(folder.file(), start + record({.kind = Kind::kCommit, .count = 1},
                                          one + id + none + none + none + none, start.size()));
  EXPECT_EQ(opened(folder.file())->state(), SessionState());
}

/// A file as large as a number can say, of which only the beginning is there.
class Endless final : public engine::ByteSource {
 public:
  explicit Endless(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return UINT64_MAX / 2; }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> to) const override {
    EXPECT_LE(offset + to.size(), bytes_.size() + (1U << 20)) << "nobody may ask for that much";
    std::ranges::fill(to, std::byte{0});
    for (std::size_t i = 0; i < to.size() && offset + i < bytes_.size(); ++i) {
      to[i] = static_cast<std::byte>(bytes_[offset + i]);
    }
    return offset + to.size() > bytes_.size() + (1U << 20) ? io_error("too far") : ok_status();
  }

 private:
  std::string bytes_;
};

TEST(SessionDamage, a_length_is_no_reason_to_ask_for_memory) {
  constexpr std::uint64_t kId = 5;
  std::string start(engine::kFileHeadBytes, '\0');
  engine::put_file_head({reinterpret_cast<std::byte*>(start.data()), start.size()}, kId);
  for (const auto kind : {engine::RecordKind::kIdentity, engine::RecordKind::kCommit}) {
    std::string bytes = start;
    const auto add = [&](engine::RecordHead head, const std::string& payload) {
      std::string record(engine::kRecordHeadBytes, '\0');
      head.payload_hash = engine::payload_hash(as_bytes(std::string_view(payload)), kId);
      engine::put_record_head({reinterpret_cast<std::byte*>(record.data()), record.size()}, head,
                              kId, bytes.size());
      bytes += record + payload;
    };
    const std::string text = identity_text(fake_identity());
    if (kind == engine::RecordKind::kCommit) {
      add({.kind = engine::RecordKind::kIdentity, .payload_bytes = text.size()}, text);
    }
    add({.kind = kind, .payload_bytes = std::uint64_t{1} << 60}, "");
    const SessionIdentity identity = fake_identity();
    const auto scan = scan_session(Endless(bytes), identity);
    EXPECT_EQ(scan.ok(), kind == engine::RecordKind::kCommit);
    if (scan.ok()) {
      EXPECT_EQ(scan->state, SessionState());
    }
  }
}

}  // namespace
}  // namespace minfer::tests
