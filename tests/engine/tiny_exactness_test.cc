// The exactness contract on a generated model of every architecture and type.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/engine/exactness.h"
#include "tests/engine/rig.h"
#include "tests/support/tiny_model.h"

namespace minfer::tests {
namespace {

/// A generated model in a file that goes when the test ends.
class TinyFile {
 public:
  explicit TinyFile(const TinyModelSpec& spec)
      : path_(testing::TempDir() + std::to_string(getpid()) + "minfer_exact_" +
              tiny_model_name(spec) + ".gguf") {
    const Status status = write_tiny_model(spec, path_);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~TinyFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TinyExactness : public testing::TestWithParam<TinyModelSpec> {};

TEST_P(TinyExactness, every_claim_holds_to_the_bit) {
  const TinyFile file(GetParam());
  expect_exact({.path = file.path()});
}

TEST_P(TinyExactness, f32_kv) {
  const TinyFile file(GetParam());
  expect_exact({.path = file.path(), .n_tokens = 100, .kv_format = backend::KvFormat::kF32});
}

INSTANTIATE_TEST_SUITE_P(
    Models, TinyExactness, testing::ValuesIn(all_tiny_models()), [](const auto& param_info) {
      std::string name = tiny_model_name(param_info.param);
      std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(TinyExactness, q8_0_kv) {
  TinyModelSpec spec;
  spec.head_dim = 32;
  const TinyFile file(spec);
  expect_exact({.path = file.path(), .kv_format = backend::KvFormat::kQ8_0});
}

TEST(TinyExactness, a_changed_bit_is_seen) {
  TinyModelSpec spec;
  const TinyFile file(spec);
  auto rig = Rig::load(file.path());
  ASSERT_NE(rig, nullptr);
  const auto ids = test_ids(20, rig->n_vocab());
  const auto a = rig->run_fresh(ids, 20);
  auto b = a;
  b[123] = b[123] * 1.0000002F;
  EXPECT_NE(first_difference(a, b, rig->n_vocab()), "");
  // Another KV type is one of the few settings that may move a bit, and does.
  RigOptions f32_kv;
  f32_kv.kv_format = backend::KvFormat::kF32;
  auto other = Rig::load(file.path(), f32_kv);
  EXPECT_NE(first_difference(a, other->run_fresh(ids, 20), rig->n_vocab()), "");
}

}  // namespace
}  // namespace minfer::tests
