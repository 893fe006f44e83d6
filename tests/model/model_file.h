// model_file: a GGUF file whose keys and tensors a test changes before it is loaded.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gguf/writer.h"
#include "model/model.h"

namespace minfer::model {

/// A folder that goes with the process.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("minfer_model_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string scratch_path(const std::string& name) {
  static const ScratchFolder folder;
  return (folder.path() / name).string();
}

/// The smallest llama: one layer, width 8, two heads of 4, 5 tokens without text.
struct ModelFile {
  using Edit = std::function<void(ModelFile&)>;

  struct Tensor {
    DType dtype = DType::kF32;
    Shape shape;
  };
  std::map<std::string, std::function<void(gguf::Writer&, const std::string&)>> keys;
  std::map<std::string, Tensor> tensors;
  float fill = 0.25F;
  std::string bad_value_in;  // a tensor whose fourth value is a NaN

  void set(const std::string& key, std::int64_t value) {
    keys[key] = [value](gguf::Writer& w, const std::string& k) { w.add_i64(k, value); };
  }
  void set_f(const std::string& key, double value) {
    keys[key] = [value](gguf::Writer& w, const std::string& k) { w.add_f64(k, value); };
  }
  void set_s(const std::string& key, const std::string& value) {
    keys[key] = [value](gguf::Writer& w, const std::string& k) { w.add_string(k, value); };
  }
  void set_array(const std::string& key, std::vector<std::int32_t> values) {
    keys[key] = [values](gguf::Writer& w, const std::string& k) { w.add_i32_array(k, values); };
  }

  ModelFile() {
    set_s("general.architecture", "llama");
    set_s("tokenizer.ggml.model", "none");
    set("llama.vocab_size", 5);
    set("llama.context_length", 128);
    set("llama.embedding_length", 8);
    set("llama.block_count", 1);
    set("llama.feed_forward_length", 12);
    set("llama.attention.head_count", 2);
    set_f("llama.attention.layer_norm_rms_epsilon", 1e-5);
    tensors["token_embd.weight"] = {DType::kF32, {5, 8}};
    tensors["output_norm.weight"] = {DType::kF32, {8}};
    tensors["blk.0.attn_norm.weight"] = {DType::kF32, {8}};
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      tensors[std::string("blk.0.") + name + ".weight"] = {DType::kF32, {8, 8}};
    }
    tensors["blk.0.ffn_norm.weight"] = {DType::kF32, {8}};
    tensors["blk.0.ffn_gate.weight"] = {DType::kF32, {12, 8}};
    tensors["blk.0.ffn_up.weight"] = {DType::kF32, {12, 8}};
    tensors["blk.0.ffn_down.weight"] = {DType::kF32, {8, 12}};
  }

  [[nodiscard]] std::string write(const std::string& name) const {
    gguf::Writer writer;
    for (const auto& [key, add] : keys) add(writer, key);
    std::map<std::string, std::vector<float>> data;
    for (const auto& [tensor, what] : tensors) {
      const std::uint64_t size =
          row_size_bytes(what.dtype, static_cast<std::uint64_t>(what.shape.elements()));
      auto& values = data[tensor];
      values.assign(size / 4 + 1, fill);
      if (tensor == bad_value_in) values[3] = std::numeric_limits<float>::quiet_NaN();
      writer.add_tensor(tensor, what.dtype, what.shape,
                        std::as_bytes(std::span<const float>(values)).first(size));
    }
    const std::string path = scratch_path(name + ".gguf");
    const Status status = writer.write(path);
    EXPECT_TRUE(status.ok()) << status.message();
    return path;
  }
};

}  // namespace minfer::model
