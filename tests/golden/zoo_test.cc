// golden/zoo: tiny models with random weights, against reference logits in f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/golden/golden_data.h"
#include "tests/golden/runner.h"

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

class Zoo : public testing::TestWithParam<const char*> {};

TEST_P(Zoo, logits_are_those_of_the_reference) {
  const std::filesystem::path folder = golden_folder() / "zoo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden data at " << folder;
  const std::string name = GetParam();
  const std::string path = unpack(folder / (name + ".gguf.xz"));
  ASSERT_FALSE(path.empty()) << "xz could not unpack " << name;
  const std::string text = read_text(folder / (name + ".json"));
  JsonScanner scanner(text);
  ASSERT_TRUE(scanner.find("tokens"));
  const auto ids = scanner.numbers<std::int32_t>();
  const std::vector<float> wanted = read_floats(folder / (name + ".f32"));
  ASSERT_EQ(ids.size(), 48U);

  auto runner = Runner::create(path, 256);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  std::vector<float> whole;
  for (const std::int32_t chunk : {48, 1, 7, 16}) {
    const auto got = runner->logits(ids, chunk);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_EQ(got->size(), wanted.size());
    const double error = normalised_error(*got, wanted);
    std::printf("%s, chunks of %d: NMSE %.2e\n", name.c_str(), chunk, error);
    EXPECT_LE(error, kMaxError) << name << " in chunks of " << chunk;
    if (whole.empty()) whole = *got;
    EXPECT_EQ(*got, whole) << name << " in chunks of " << chunk << ": other bits than whole";
  }
  std::filesystem::remove(path);
}

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
