// Rows of a model's KV through a session file: the same bits after it as before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/session_file.h"
#include "tests/engine/rig.h"
#include "tests/engine/session_rig.h"
#include "tests/support/tiny_model.h"

namespace minfer::tests {
namespace {

using backend::KvFormat;
using engine::SessionFile;
using engine::SessionIdentity;
using engine::SessionState;
using testing::HasSubstr;

struct Case {
  std::string arch;
  KvFormat format;
};

std::string model_file(const Folder& folder, const Case& test, std::uint64_t seed = 1) {
  TinyModelSpec spec;
  spec.arch = test.arch;
  spec.seed = seed;
  if (test.format == KvFormat::kQ8_0) spec.head_dim = 32;
  const std::string path = folder.file("model" + std::to_string(seed) + ".gguf");
  const Status status = write_tiny_model(spec, path);
  EXPECT_TRUE(status.ok()) << status.message();
  return path;
}

SessionIdentity identity_of(const Rig& rig, KvFormat format) {
  auto identity = session_identity(rig.engine(), format);
  EXPECT_TRUE(identity.ok()) << identity.status().message();
  return identity.ok() ? *identity : SessionIdentity();
}

std::unique_ptr<SessionFile> opened(const std::string& path, const SessionIdentity& identity) {
  auto file = SessionFile::open(path, identity, SessionFile::Mode::kSession);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(*file) : nullptr;
}

/// Saves the first `n` of `ids`, in turns with a rollback and cuts inside pages.
void save(Rig& rig, const std::string& path, const SessionIdentity& identity,
          std::span<const std::int32_t> ids, std::size_t n) {
  auto file = opened(path, identity);
  const plan::SequenceId sequence = rig.open();
  plan::SequenceRows rows(rig.forward().kv(), sequence);
  SessionState state;
  const auto turn = [&](std::span<const std::int32_t> more) {
    rig.run(sequence, more, 512);
    state.stream.insert(state.stream.end(), more.begin(), more.end());
    const Status status = file->commit(state, rows);
    ASSERT_TRUE(status.ok()) << status.message();
  };
  turn(ids.first(50));
  turn(ids.last(40));  // which the next turn takes back
  state.stream.resize(70 - 20);
  ASSERT_TRUE(rig.forward().kv().truncate(sequence, 50).ok());
  turn(ids.subspan(50, 20));
  turn(ids.subspan(70, n - 70));
  rig.forward().kv().close(sequence);
}

class SessionKv : public testing::TestWithParam<Case> {};

TEST_P(SessionKv, logits_after_it_are_those_of_an_unbroken_run) {
  const Folder folder;
  const std::string model = model_file(folder, GetParam());
  RigOptions options;
  options.kv_format = GetParam().format;
  auto rig = Rig::load(model, options);
  ASSERT_NE(rig, nullptr);
  constexpr std::size_t kSaved = 150;
  const auto ids = test_ids(190, rig->n_vocab());
  const std::vector<float> whole = rig->run_fresh(ids, 64);
  const SessionIdentity identity = identity_of(*rig, options.kv_format);
  save(*rig, folder.file(), identity, ids, kSaved);

  // Another context, another number of threads.
  options.n_ctx = 200;
  options.n_threads = 1;
  rig = Rig::load(model, options);
  auto file = opened(folder.file(), identity_of(*rig, options.kv_format));
  EXPECT_EQ(file->refusal(), "");
  EXPECT_TRUE(std::ranges::equal(file->state().stream, std::span(ids).first(kSaved)));
  for (const std::size_t n : {kSaved, std::size_t{65}}) {
    const plan::SequenceId sequence = rig->open();
    plan::SequenceRows rows(rig->forward().kv(), sequence);
    const auto restored = file->restore_rows(rows, static_cast<std::int32_t>(n));
    ASSERT_TRUE(restored.ok()) << restored.status().message();
    EXPECT_EQ(static_cast<std::size_t>(*restored), n);
    const auto logits = rig->run(sequence, std::span(ids).subspan(n), 7);
    const auto wanted = std::span(whole).subspan(n * static_cast<std::size_t>(rig->n_vocab()));
    EXPECT_EQ(first_difference(logits, wanted, rig->n_vocab()), "") << n << " rows";
    rig->forward().kv().close(sequence);
  }
}

TEST_P(SessionKv, one_wrong_row_is_seen) {
  const Folder folder;
  const std::string model = model_file(folder, GetParam());
  RigOptions options;
  options.kv_format = GetParam().format;
  auto rig = Rig::load(model, options);
  const auto ids = test_ids(190, rig->n_vocab());
  const std::vector<float> whole = rig->run_fresh(ids, 64);
  auto other = ids;
  other[149] = (other[149] + 1) % static_cast<std::int32_t>(rig->n_vocab());
  const SessionIdentity identity = identity_of(*rig, options.kv_format);
  save(*rig, folder.file(), identity, other, 150);
  auto file = opened(folder.file(), identity);
  const plan::SequenceId sequence = rig->open();
  plan::SequenceRows rows(rig->forward().kv(), sequence);
  ASSERT_EQ(*file->restore_rows(rows, 150), 150);
  const auto logits = rig->run(sequence, std::span(ids).subspan(150), 40);
  const auto wanted = std::span(whole).subspan(150 * static_cast<std::size_t>(rig->n_vocab()));
  EXPECT_NE(first_difference(logits, wanted, rig->n_vocab()), "");
}

INSTANTIATE_TEST_SUITE_P(
    Models, SessionKv,
    testing::Values(Case{"llama", KvFormat::kF32}, Case{"llama", KvFormat::kF16},
                    Case{"llama", KvFormat::kQ8_0}, Case{"gemma3", KvFormat::kF16},
                    Case{"gemma3", KvFormat::kQ8_0}, Case{"qwen2", KvFormat::kF32}),
    [](const auto& param_info) {
      return param_info.param.arch + "_" + std::string(kv_format_name(param_info.param.format));
    });

TEST(SessionKvOther, another_model_format_or_weight_is_refused_by_name) {
  const Folder folder;
  auto rig = Rig::load(model_file(folder, {"llama", KvFormat::kF16}));
  const auto ids = test_ids(190, rig->n_vocab());
  const SessionIdentity identity = identity_of(*rig, KvFormat::kF16);
  save(*rig, folder.file(), identity, ids, 150);
  EXPECT_THAT(opened(folder.file(), identity_of(*rig, KvFormat::kF32))->refusal(),
              HasSubstr("another KV type: f16, this is f32"));
  // The same shapes and metadata, other weights.
  auto other = Rig::load(model_file(folder, {"llama", KvFormat::kF16}, 2));
  EXPECT_THAT(opened(folder.file(), identity_of(*other, KvFormat::kF16))->refusal(),
              HasSubstr("another model"));
  SessionIdentity newer = identity;
  newer.lines[0].value = "2";
  EXPECT_THAT(opened(folder.file(), newer)->refusal(), HasSubstr("another arithmetic version"));
}

TEST(SessionKvOther, rows_that_a_window_has_passed_are_refused_by_name) {
  const Folder folder;
  auto rig = Rig::load(model_file(folder, {"gemma3", KvFormat::kF16}));
  const auto ids = test_ids(150, rig->n_vocab());
  const plan::SequenceId sequence = rig->open();
  rig->run(sequence, ids, 150);
  rig->forward().kv().evict_outside_window(sequence);
  plan::SequenceRows rows(rig->forward().kv(), sequence);
  auto file = opened(folder.file(), identity_of(*rig, KvFormat::kF16));
  SessionState state;
  state.stream = ids;
  const Status status = file->commit(state, rows);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("before the window of some layers"));
}

}  // namespace
}  // namespace minfer::tests
