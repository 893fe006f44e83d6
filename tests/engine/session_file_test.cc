// Session files on rows that no model made: turns, rollbacks, damage, full disks, other processes.
#include "engine/session_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "base/bytes.h"
#include "tests/engine/session_rig.h"

namespace minfer::tests {
namespace {

using engine::SessionFile;
using engine::SessionIdentity;
using engine::SessionState;
using testing::ElementsAre;
using testing::HasSubstr;
using Mode = SessionFile::Mode;

std::vector<engine::TokenId> tokens(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<engine::TokenId> ids(n);
  for (engine::TokenId& id : ids) id = static_cast<engine::TokenId>(rng() % 1000);
  return ids;
}

void add_turn(SessionState& state, std::size_t n, unsigned seed) {
  const auto ids = tokens(n, seed);
  state.stream.insert(state.stream.end(), ids.begin(), ids.end());
  state.pending = tokens(1 + seed % 2, seed + 100);
  state.messages.push_back("user " + std::to_string(seed));
  state.messages.push_back("assistant " + std::to_string(seed));
  state.extra = "attempt " + std::to_string(seed);
}

std::unique_ptr<SessionFile> opened(const std::string& path,
                                    const SessionIdentity& identity = fake_identity(),
                                    Mode mode = Mode::kSession) {
  auto file = SessionFile::open(path, identity, mode);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(*file) : nullptr;
}

Status refusal(const std::string& path, Mode mode = Mode::kSession) {
  auto file = SessionFile::open(path, fake_identity(), mode);
  EXPECT_FALSE(file.ok());
  return file.ok() ? ok_status() : file.status();
}

Status commit(SessionFile& file, const SessionState& state, std::uint64_t row_bytes = 48) {
  FakeRows rows(row_bytes);
  rows.run(state.stream);
  return file.commit(state, rows);
}

/// The file holds exactly `state`, rows included.
void expect_holds(SessionFile& file, const SessionState& state, std::uint64_t row_bytes = 48) {
  EXPECT_EQ(file.refusal(), "");
  EXPECT_EQ(file.state(), state);
  FakeRows rows(row_bytes), wanted(row_bytes);
  const auto n = file.restore_rows(rows, INT32_MAX);
  ASSERT_TRUE(n.ok()) << n.status().message();
  EXPECT_EQ(static_cast<std::size_t>(*n), state.stream.size());
  wanted.run(state.stream);
  EXPECT_EQ(rows.rows(), wanted.rows());
}

TEST(SessionFile, turns_come_back_as_they_were) {
  const Folder folder;
  SessionState state;
  for (unsigned turn = 1; turn <= 5; ++turn) {
    auto file = opened(folder.file());
    expect_holds(*file, state);
    add_turn(state, 40 * turn, turn);
    const Status saved = commit(*file, state);
    ASSERT_TRUE(saved.ok()) << saved.message();
    add_turn(state, 1, turn + 50);
    ASSERT_TRUE(commit(*file, state).ok());
  }
  expect_holds(*opened(folder.file()), state);
  expect_holds(*opened(folder.file(), fake_identity(), Mode::kReadOnly), state);
  EXPECT_THAT(folder.names(), ElementsAre("s.kv"));
}

TEST(SessionFile, rollbacks_and_rewritten_histories_come_back) {
  const Folder folder;
  std::mt19937 rng(3);
  SessionState state;
  for (unsigned turn = 1; turn <= 60; ++turn) {
    auto file = opened(folder.file());
    for (int step = 0; step < 2; ++step) {
      if (rng() % 3 == 0 && !state.stream.empty()) {
        state.stream.resize(rng() % state.stream.size());
        state.messages.resize(rng() % (state.messages.size() + 1));
        if (rng() % 2 == 0 && !state.messages.empty()) state.messages.front() += " changed";
      }
      if (rng() % 4 != 0) add_turn(state, rng() % 90, turn);
      const Status saved = commit(*file, state);
      ASSERT_TRUE(saved.ok()) << saved.message();
    }
    file = nullptr;
    expect_holds(*opened(folder.file()), state);
  }
}

TEST(SessionFile, a_turn_writes_little_more_than_its_rows) {
  const Folder folder;
  constexpr std::uint64_t kRowBytes = 12288;
  auto file = opened(folder.file(), fake_identity(kRowBytes));
  SessionState state;
  std::uint64_t before = 0;
  for (unsigned turn = 1; turn <= 30; ++turn) {
    add_turn(state, 10 + turn, turn);
    state.messages.back() += std::string(400, 'x');
    ASSERT_TRUE(commit(*file, state, kRowBytes).ok());
    const std::uint64_t written = file->bytes_written() - before;
    EXPECT_LE(written, (10 + turn) * kRowBytes * 11 / 10) << "turn " << turn;
    before = file->bytes_written();
  }
  // Nothing new, nothing written.
  ASSERT_TRUE(commit(*file, state, kRowBytes).ok());
  EXPECT_EQ(file->bytes_written(), before);
}

TEST(SessionFile, a_file_of_dead_rows_is_made_anew) {
  const Folder folder;
  auto file = opened(folder.file());
  SessionState state;
  add_turn(state, 100, 1);
  std::uintmax_t largest = 0;
  for (unsigned turn = 2; turn <= 100; ++turn) {
    state.stream.resize(50);
    add_turn(state, 100, turn);
    state.messages.resize(2);
    ASSERT_TRUE(commit(*file, state).ok());
    largest = std::max(largest, std::filesystem::file_size(folder.file()));
  }
  EXPECT_LT(largest, 2 * 150 * 52 + 8192);
  file = nullptr;
  expect_holds(*opened(folder.file()), state);
  EXPECT_THAT(folder.names(), ElementsAre("s.kv"));
}

TEST(SessionFile, nobody_else_may_read_it) {
  const Folder folder;
  const mode_t mask = umask(0);
  SessionState state;
  add_turn(state, 10, 1);
  EXPECT_TRUE(commit(*opened(folder.file()), state).ok());
  umask(mask);
  struct stat info{};
  ASSERT_EQ(stat(folder.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
}

TEST(SessionFile, a_session_without_a_turn_leaves_no_file) {
  const Folder folder;
  auto file = opened(folder.file());
  EXPECT_THAT(folder.names(), ElementsAre("s.kv"));
  file = nullptr;
  EXPECT_TRUE(folder.names().empty());
}

TEST(SessionFile, a_second_process_is_refused_until_the_first_has_ended) {
  const Folder folder;
  SessionState state;
  add_turn(state, 70, 1);
  auto file = opened(folder.file());
  EXPECT_THAT(refusal(folder.file()).message(), HasSubstr("is in use by another minfer"));
  ASSERT_TRUE(commit(*file, state).ok());  // which makes a new file under the name
  EXPECT_THAT(refusal(folder.file()).message(), HasSubstr("is in use by another minfer"));
  // Whoever only reads may.
  expect_holds(*opened(folder.file(), fake_identity(), Mode::kReadOnly), state);
  file = nullptr;
  expect_holds(*opened(folder.file()), state);
}

TEST(SessionFile, what_is_no_session_file_is_left_alone) {
  const Folder folder;
  EXPECT_THAT(refusal(folder.file("")).message(), HasSubstr("is a folder"));
  EXPECT_THAT(refusal("/dev/null").message(), HasSubstr("is a device or pipe"));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder.file("pipe")).message(), HasSubstr("is a device or pipe"));
  EXPECT_THAT(refusal(folder.file("pipe"), Mode::kReadOnly).message(), HasSubstr("device or pipe"));
  ASSERT_EQ(symlink("nowhere", folder.file("link").c_str()), 0);
  EXPECT_THAT(refusal(folder.file("link")).message(), HasSubstr("link to nothing"));
  EXPECT_EQ(refusal(folder.file("none"), Mode::kReadOnly).code(), StatusCode::kNotFound);
  EXPECT_EQ(refusal(folder.file("no/folder")).code(), StatusCode::kIo);
  for (const std::string text : {"x", "a letter to somebody, longer than the head of a session"}) {
    set_bytes(folder.file("letter"), text);
    EXPECT_THAT(refusal(folder.file("letter")).message(), HasSubstr("is no session file"));
    EXPECT_EQ(bytes_of(folder.file("letter")), text);
  }
  set_bytes(folder.file("empty"), "");
  EXPECT_THAT(refusal(folder.file("empty"), Mode::kReadOnly).message(), HasSubstr("no session"));
}

TEST(SessionFile, a_link_stays_a_link) {
  const Folder folder;
  SessionState state;
  add_turn(state, 10, 1);
  ASSERT_TRUE(commit(*opened(folder.file("real")), state).ok());
  ASSERT_EQ(symlink("real", folder.file("link").c_str()), 0);
  state.stream.clear();
  state.messages = {std::string(20000, 'x')};
  ASSERT_TRUE(commit(*opened(folder.file("link")), state).ok());
  state.messages = {"short, so that the file is made anew"};
  ASSERT_TRUE(commit(*opened(folder.file("link")), state).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_LT(std::filesystem::file_size(folder.file("real")), 1000U);
  expect_holds(*opened(folder.file("real")), state);
}

TEST(SessionFile, a_file_of_another_run_keeps_its_messages) {
  const Folder folder;
  SessionState state;
  add_turn(state, 100, 1);
  ASSERT_TRUE(commit(*opened(folder.file()), state).ok());
  const std::string old = bytes_of(folder.file());

  SessionIdentity other = fake_identity(96);
  other.lines[2].value = "f32";
  auto file = opened(folder.file(), other);
  EXPECT_EQ(file->refusal(), "it was made with another KV type: f16, this is f32");
  EXPECT_EQ(file->state().messages, state.messages);
  EXPECT_EQ(file->state().extra, state.extra);
  EXPECT_TRUE(file->state().stream.empty() && file->state().pending.empty());
  FakeRows rows(96);
  EXPECT_EQ(*file->restore_rows(rows, INT32_MAX), 0);
  EXPECT_EQ(bytes_of(folder.file()), old);

  // The history, run again.
  ASSERT_TRUE(commit(*file, state, 96).ok());
  file = nullptr;
  expect_holds(*opened(folder.file(), other), state, 96);
}

TEST(SessionFile, another_size_of_context_is_fine_if_the_rows_fit) {
  const Folder folder;
  SessionState state;
  add_turn(state, 100, 1);
  auto file = opened(folder.file());
  ASSERT_TRUE(commit(*file, state).ok());
  FakeRows small(48, 99), enough(48, 100), part(48, 80);
  const auto n = file->restore_rows(small, INT32_MAX);
  EXPECT_EQ(n.status().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(n.status().message(),
              HasSubstr("holds 100 tokens, which do not fit in a context of 99"));
  EXPECT_EQ(small.length(), 0);
  EXPECT_EQ(*file->restore_rows(enough, INT32_MAX), 100);
  EXPECT_EQ(*file->restore_rows(part, 70), 70);
}

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

TEST(SessionFile, cut_at_any_length_it_holds_the_turns_before) {
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

TEST(SessionFile, damaged_anywhere_it_is_refused_or_right_and_nothing_is_lost) {
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

TEST(SessionFile, a_damaged_row_costs_the_rows_behind_it_and_no_text) {
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

TEST(SessionFile, a_file_of_bytes_that_lie_is_never_believed) {
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

TEST(SessionFile, a_length_is_no_reason_to_ask_for_memory) {
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

TEST(SessionFile, a_full_disk_loses_no_turn_that_was_saved) {
  const Folder folder;
  SessionState state;
  add_turn(state, 100, 1);
  auto file = opened(folder.file());
  ASSERT_TRUE(commit(*file, state).ok());
  const SessionState saved = state;
  const std::string whole = bytes_of(folder.file());

  // A limit to the size of files fails a write as a full disk does.
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto limit = [&](rlim_t bytes) {
    const rlimit now{bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  };
  add_turn(state, 100, 2);
  for (const std::size_t more : {0UL, 10UL, 500UL, 4000UL}) {
    limit(whole.size() + more);
    const Status status = commit(*file, state);
    limit(old.rlim_cur);
    EXPECT_EQ(status.code(), StatusCode::kIo);
    EXPECT_THAT(status.message(), HasSubstr("only kept in memory"));
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("\n")));
    EXPECT_EQ(bytes_of(folder.file()), whole);
  }
  // With room again the turn is saved after all.
  expect_holds(*opened(folder.file(), fake_identity(), Mode::kReadOnly), saved);
  EXPECT_TRUE(commit(*file, state).ok());
  file = nullptr;
  expect_holds(*opened(folder.file()), state);

  // A new file for the old one does not come about either.
  const std::string longer = bytes_of(folder.file());
  SessionIdentity other = fake_identity();
  other.lines[1].value = "Another";
  file = opened(folder.file(), other);
  limit(1000);
  EXPECT_EQ(commit(*file, state).code(), StatusCode::kIo);
  limit(old.rlim_cur);
  EXPECT_EQ(bytes_of(folder.file()), longer);
  EXPECT_THAT(folder.names(), ElementsAre("s.kv"));
  std::signal(SIGXFSZ, old_handler);
}

TEST(SessionFile, a_file_that_went_is_made_again_and_another_ones_is_left_alone) {
  const Folder folder;
  SessionState state;
  add_turn(state, 10, 1);
  auto file = opened(folder.file());
  ASSERT_TRUE(commit(*file, state).ok());
  std::filesystem::remove(folder.file());
  add_turn(state, 10, 2);
  ASSERT_TRUE(commit(*file, state).ok());
  expect_holds(*opened(folder.file(), fake_identity(), Mode::kReadOnly), state);

  std::filesystem::remove(folder.file());
  set_bytes(folder.file(), "somebody else's");
  add_turn(state, 10, 3);
  EXPECT_THAT(commit(*file, state).message(), HasSubstr("was replaced by another file"));
  EXPECT_EQ(bytes_of(folder.file()), "somebody else's");
}

TEST(SessionFile, killed_at_any_moment_it_holds_whole_turns) {
  const Folder folder;
  // The turn k of a process that does nothing but save turns.
  const auto state_of = [](unsigned k) {
    SessionState state;
    add_turn(state, 30 + 10 * (k % 7), k % 5);  // with rollbacks, so that files are made anew
    state.extra = std::to_string(k);
    return state;
  };
  unsigned last = 0;
  std::mt19937 rng(5);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto file = SessionFile::open(folder.file(), fake_identity(), Mode::kSession);
      for (unsigned k = last + 1; file.ok() && commit(**file, state_of(k)).ok(); ++k) {
      }
      _exit(1);
    }
    usleep(static_cast<useconds_t>(1000 + rng() % 20000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto file = opened(folder.file());
    ASSERT_NE(file, nullptr);
    if (file->state() == SessionState()) continue;
    const auto k = static_cast<unsigned>(std::stoul(file->state().extra));
    EXPECT_GE(k, last);
    last = k;
    expect_holds(*file, state_of(k));
    EXPECT_THAT(folder.names(), testing::Not(testing::Contains(HasSubstr("damaged"))));
  }
  EXPECT_GT(last, 5U);
}

}  // namespace
}  // namespace minfer::tests
