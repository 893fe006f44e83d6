// golden/zoo: tiny models with random weights, against reference logits in f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/golden/golden_data.h"
#include "tests/golden/runner.h"
#include "tests/support/reference_backend.h"

namespace minfer::tests {
namespace {

constexpr double kMaxError = 1e-9;

// sum((a-b)^2) / sum(b^2)
double normalised_error(std::span<const float> got, std::span<const float> wanted) {
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double difference = double{got[i]} - double{wanted[i]};
    error += difference * difference;
    size += double{wanted[i]} * double{wanted[i]};
  }
  return error / size;
}

class Zoo : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::filesystem::path folder = golden_folder() / "zoo";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden data at " << folder;
    const std::string name = GetParam();
    path_ = unpack(folder / (name + ".gguf.xz"));
    ASSERT_FALSE(path_.empty()) << "xz could not unpack " << name;
    const std::string text = read_text(folder / (name + ".json"));
    JsonScanner json(text);
    ASSERT_TRUE(json.find("tokens"));
    ids_ = json.numbers<std::int32_t>();
    wanted_ = read_floats(folder / (name + ".f32"));
    ASSERT_EQ(ids_.size(), 48U);
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  void compare(std::unique_ptr<backend::Backend> backend) {
    const std::string on(backend->name());
    auto runner = Runner::create(path_, 256, std::move(backend));
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    std::vector<float> whole;
    for (const std::int32_t chunk : {48, 1, 7, 16}) {
      const auto got = runner->logits(ids_, chunk);
      ASSERT_TRUE(got.ok()) << got.status().message();
      ASSERT_EQ(got->size(), wanted_.size());
      const double error = normalised_error(*got, wanted_);
      std::printf("%s on %s, chunks of %d: NMSE %.2e\n", GetParam(), on.c_str(), chunk, error);
      EXPECT_LE(error, kMaxError) << "in chunks of " << chunk;
      if (whole.empty()) whole = *got;
      EXPECT_EQ(*got, whole) << "in chunks of " << chunk << ": other bits than whole";
    }
  }

 private:
  std::string path_;
  std::vector<std::int32_t> ids_;
  std::vector<float> wanted_;
};

TEST_P(Zoo, cpu) {
  auto cpu = make_cpu();
  ASSERT_TRUE(cpu.ok()) << cpu.status().message();
  compare(std::move(cpu).value());
}

// Tells a wrong model from a wrong kernel.
TEST_P(Zoo, scalar_loops) { compare(std::make_unique<ReferenceBackend>()); }

INSTANTIATE_TEST_SUITE_P(Golden, Zoo,
                         testing::Values("llama-dense", "llama-moe", "qwen2-dense", "qwen3-dense",
                                         "qwen3moe-moe", "gemma3-dense"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace minfer::tests
