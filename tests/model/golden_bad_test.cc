// golden/gguf_bad: files whose fault is the model's, not the format's, are refused by Model::load.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "model/model.h"

namespace minfer::model {
namespace {

struct Case {
  const char* file;
  std::vector<const char*> words;  // that the message must hold
};

std::filesystem::path golden_folder() {
  if (const char* folder = std::getenv("MINFER_GOLDEN_DIR")) return folder;
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / "../shared/golden";
}

TEST(GoldenBad, model_faults_are_named) {
  const auto folder = golden_folder() / "gguf_bad";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden data at " << folder;
  ASSERT_TRUE(Model::load((folder / "good.gguf").string(), {}).ok());
  const Case cases[] = {
      {"arch_is_number", {"general.architecture"}},
      {"arch_missing", {"general.architecture"}},
      {"arch_unknown", {"frobnicator", "llama"}},
      {"embd_mismatch", {"token_embd.weight", "[40, 32]", "[40, 48]"}},
      {"embd_zero", {"llama.embedding_length", "0"}},
      {"eps_nan", {"llama.attention.layer_norm_rms_epsilon", "nan"}},
      {"heads_huge", {"llama.attention.head_count", "2147483648"}},
      {"heads_not_multiple", {"llama.attention.head_count_kv", "3"}},
      {"heads_zero", {"llama.attention.head_count", "0"}},
      {"layers_huge", {"llama.block_count", "2147483648"}},
      {"layers_missing", {"llama.block_count"}},
      {"n_tensors_zero", {"llama.block_count", "the 0 layers that the file has"}},
      {"rope_dim_odd", {"llama.rope.dimension_count", "15", "even"}},
      {"rope_dim_over_head", {"llama.rope.dimension_count", "4096", "16"}},
      {"shape_embd_fewer_rows", {"token_embd.weight", "[35, 32]", "[40, 32]"}},
      {"shape_norm_wrong", {"blk.0.attn_norm.weight", "[31]", "[32]"}},
      {"tensor_missing", {"blk.0.ffn_up.weight", "missing"}},
      {"tok_missing", {"tokenizer.ggml.model", "missing"}},
      {"tok_model_unknown", {"mystery"}},
      {"tok_tokens_are_ints", {"tokenizer.ggml.tokens"}},
      {"tok_tokens_empty", {"tokenizer.ggml.tokens"}},
  };
  for (const Case& c : cases) {
    const std::string path = (folder / (std::string(c.file) + ".gguf")).string();
    const auto model = Model::load(path, {});
    ASSERT_FALSE(model.ok()) << c.file;
    const std::string& message = model.status().message();
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const char* word : c.words) EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

TEST(GoldenBad, every_damaged_file_ends_in_a_status) {
  const auto folder = golden_folder() / "gguf_bad";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden data at " << folder;
  int refused = 0;
  int loaded = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto model = Model::load(entry.path().string(), {});
    const std::string name = entry.path().stem().string();
    const bool may_load = name == "good" || name.starts_with("template_") ||
                          name == "tok_invalid_utf8" || name == "tok_merge_unknown_piece" ||
                          name == "tok_duplicate_piece";
    EXPECT_TRUE(may_load || !model.ok()) << name;
    EXPECT_TRUE(model.ok() || !may_load || name.starts_with("tok_")) << name;
    ++(model.ok() ? loaded : refused);
  }
  EXPECT_GE(refused, 56);
  EXPECT_GE(loaded, 3);
}

}  // namespace
}  // namespace minfer::model
