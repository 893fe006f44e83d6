// The golden set of damaged files, and real models where they are at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "gguf/file.h"

namespace minfer::gguf {
namespace {

namespace fs = std::filesystem;

fs::path folder_from(const char* variable, const char* below_source) {
  if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return value;
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  return fs::path(source != nullptr ? source : ".") / below_source;
}

// File of golden/gguf_bad whose fault the format alone shows, and a word of its message.
struct Damaged {
  std::string_view name;
  std::string_view word;
};
constexpr std::array kDamaged = {
    Damaged{"align_0", "general.alignment"},
    Damaged{"align_huge", "general.alignment"},
    Damaged{"align_is_string", "general.alignment"},
    Damaged{"array_len_huge", "elements"},
    Damaged{"array_nested_100000", "array of arrays"},
    Damaged{"array_type_unknown", "value type"},
    Damaged{"cut_in_data", "past the end"},
    Damaged{"cut_in_kv", "200 bytes"},
    Damaged{"cut_in_tokens", "tokenizer.ggml.tokens"},
    Damaged{"dims_bytes_overflow", "blk.0.attn_q.weight"},
    Damaged{"dims_five", "5 dimensions"},
    Damaged{"dims_negative", "blk.0.attn_q.weight"},
    Damaged{"dims_product_overflows", "blk.0.attn_q.weight"},
    Damaged{"dims_zero", "is 0"},
    Damaged{"four_bytes", "cut short"},
    Damaged{"header_only", "12 tensors"},
    Damaged{"key_empty", "empty"},
    Damaged{"key_len_huge", "bytes"},
    Damaged{"magic_bigendian", "big-endian"},
    Damaged{"magic_wrong", "GGUF"},
    Damaged{"n_kv_over_by_one", "tensor"},
    Damaged{"n_tensors_2e32", "4,294,967,308 tensors"},
    Damaged{"no_data_at_all", "past the end"},
    Damaged{"offset_past_end", "past the end"},
    Damaged{"offset_unaligned", "alignment"},
    Damaged{"split_count_but_single", "part 1 of 3"},
    Damaged{"split_no_over_count", "split.no"},
    Damaged{"tensor_name_nul", "NUL"},
    Damaged{"tensor_row_not_block_multiple", "Q4_K"},
    Damaged{"tensor_type_removed", "Q4_2"},
    Damaged{"tensors_overlap", "overlaps"},
    Damaged{"value_type_unknown", "value type"},
    Damaged{"version_0", "version 0"},
    Damaged{"version_99", "version 99"},
    Damaged{"version_byteswapped", "big-endian"},
};

TEST(Golden, damaged_files_are_refused_by_name) {
  const fs::path folder = folder_from("MINFER_GOLDEN_DIR", "../shared/golden") / "gguf_bad";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no golden data in " << folder;
  for (const Damaged& damaged : kDamaged) {
    const std::string path = (folder / (std::string(damaged.name) + ".gguf")).string();
    const Result<File> file = File::open(path);
    ASSERT_FALSE(file.ok()) << path;
    const std::string& message = file.status().message();
    EXPECT_TRUE(message.starts_with("[gguf] " + path + ": ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find(damaged.word), std::string::npos) << message;
  }
  EXPECT_TRUE(File::open((folder / "good.gguf").string()).ok());
}

TEST(Golden, real_models_open_within_milliseconds) {
  const fs::path folder = folder_from("MINFER_MODEL_DIR_TEST", "models");
  std::vector<fs::path> models;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".gguf") models.push_back(entry.path());
    }
  }
  if (models.empty()) GTEST_SKIP() << "no models in " << folder;
  for (const fs::path& model : models) {
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const Result<File> file = File::open(model.string());
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - start;
      ASSERT_TRUE(file.ok()) << file.status().message();
      EXPECT_FALSE(file->tensors().empty());
      EXPECT_GT(file->strings("tokenizer.ggml.tokens")->size(), 1000u);
      best = std::min(best, spent.count());
    }
    EXPECT_LT(best, 200) << model;
  }
}

TEST(Golden, a_real_template_with_a_length_of_two_to_the_63) {
  const fs::path model =
      folder_from("MINFER_MODEL_DIR_TEST", "models") / "SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!fs::exists(model)) GTEST_SKIP() << "no " << model;
  const Result<MappedFile> mapping = MappedFile::open(model.string());
  ASSERT_TRUE(mapping.ok());
  std::string bytes(as_text(mapping->bytes()));
  const std::string key = "tokenizer.chat_template";
  const std::size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  bytes[at + key.size() + 4 + 7] = '\x80';
  const Result<File> file = File::from_bytes(as_bytes(bytes), "s.gguf");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find(key), std::string::npos) << file.status().message();
}

}  // namespace
}  // namespace minfer::gguf
