// Session files on rows that no model made: turns, rollbacks, full disks, other processes.
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

#include "tests/engine/session_rig.h"

namespace minfer::tests {
namespace {

using engine::SessionFile;
using engine::SessionIdentity;
using engine::SessionState;
using testing::ElementsAre;
using testing::HasSubstr;
using Mode = SessionFile::Mode;

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
    EXPECT_THAT(status.message(), HasSubstr("s.kv cannot be written"));
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

TEST(SessionFile, a_file_that_somebody_cut_is_made_anew) {
  const Folder folder;
  SessionState state;
  add_turn(state, 100, 1);
  auto file = opened(folder.file());
  ASSERT_TRUE(commit(*file, state).ok());
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, bytes_of(folder.file()).size()}) {
    std::filesystem::resize_file(folder.file(), size);
    ASSERT_TRUE(commit(*file, state).ok());  // the same once more
    expect_holds(*opened(folder.file(), fake_identity(), Mode::kReadOnly), state);
    std::filesystem::resize_file(folder.file(), size);
    add_turn(state, 10, 2);
    ASSERT_TRUE(commit(*file, state).ok());
    expect_holds(*opened(folder.file(), fake_identity(), Mode::kReadOnly), state);
  }
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