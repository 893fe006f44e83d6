// The twelve tokenizers of golden/vocab: every text gives exactly the ids of the reference.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/text/gguf_vocab.h"
#include "text/stream_detokenizer.h"
#include "text/unicode.h"

namespace minfer::text {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder() {
  if (const char* folder = std::getenv("MINFER_GOLDEN_DIR"); folder != nullptr && *folder != '\0')
    return fs::path(folder) / "vocab";
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  return fs::path(source != nullptr ? source : ".") / ".." / "shared" / "golden" / "vocab";
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::byte> unpack(const fs::path& path) {
  std::vector<std::byte> bytes;
  FILE* pipe = popen(("xz -dc '" + path.string() + "'").c_str(), "r");
  if (pipe == nullptr) return bytes;
  std::vector<std::byte> block(1 << 20);
  while (const std::size_t n = fread(block.data(), 1, block.size(), pipe))
    bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(n));
  EXPECT_EQ(pclose(pipe), 0) << path;
  return bytes;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, every_text_gives_the_ids_of_the_reference) {
  const fs::path folder = golden_folder();
  if (!fs::exists(folder)) GTEST_SKIP() << "no golden data at " << folder << " (MINFER_GOLDEN_DIR)";
  const std::string name = GetParam();
  const std::vector<std::byte> bytes = unpack(folder / (name + ".gguf.xz"));
  auto file = gguf::File::from_bytes(bytes, name);
  ASSERT_TRUE(file.ok()) << file.status().message();
  auto created = Tokenizer::create(spec_of(*file));
  ASSERT_TRUE(created.ok()) << created.status().message();
  const Tokenizer& tokenizer = **created;
  EXPECT_TRUE(tokenizer.warnings().empty());
  const bool lossy = tokenizer.vocab().kind() == VocabKind::kWordPiece;

  const std::string texts = read_file(folder / (name + ".inp"));
  std::istringstream answers(read_file(folder / (name + ".out")));
  const std::string separator = "\n__ggml_vocab_test__\n";
  int n_texts = 0;
  for (std::size_t pos = 0, end; (end = texts.find(separator, pos)) != std::string::npos;
       pos = end + separator.size()) {
    const std::string text = texts.substr(pos, end - pos);
    std::string line;
    ASSERT_TRUE(std::getline(answers, line));
    std::istringstream numbers(line);
    const std::vector<std::int32_t> expected{std::istream_iterator<std::int32_t>(numbers), {}};
    auto ids = tokenizer.encode(text);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, expected) << testing::PrintToString(text);
    ++n_texts;
    if (lossy) continue;
    EXPECT_EQ(tokenizer.decode(*ids), text);
    StreamDetokenizer stream(tokenizer);
    std::string streamed;
    for (const std::int32_t id : *ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.finish(), text);
  }
  EXPECT_EQ(n_texts, name == "qwen35" ? 50 : 46);
}

INSTANTIATE_TEST_SUITE_P(Vocab, Golden,
                         testing::Values("bert-bge", "deepseek-coder", "deepseek-llm", "falcon",
                                         "gpt-2", "llama-bpe", "llama-spm", "mpt", "phi-3", "qwen2",
                                         "qwen35", "starcoder"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace minfer::text
