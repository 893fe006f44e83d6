// Loading: what a model says of itself, and every fault of hyper-parameters, tensors and tokenizer.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/model.h"
#include "quant/codec.h"
#include "tests/model/model_file.h"
#include "tests/support/tiny_model.h"

namespace minfer::model {
namespace {

Result<std::unique_ptr<Model>> load(const std::string& path, LoadOptions options = {}) {
  return Model::load(path, options);
}

void expect_refused(const ModelFile& file, StatusCode code, std::vector<std::string> words) {
  const std::string path = file.write("refused");
  const auto model = load(path);
  ASSERT_FALSE(model.ok()) << words.back();
  const std::string& message = model.status().message();
  EXPECT_EQ(model.status().code(), code) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.find(path), std::string::npos) << message;
  for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << message;
}

TEST(Load, smallest_model) {
  const auto loaded = load(ModelFile().write("good"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Model& model = **loaded;
  EXPECT_EQ(model.arch_name(), "llama");
  EXPECT_EQ(model.display_name(), "good.gguf");
  EXPECT_EQ(model.type_name(), "F32");
  EXPECT_EQ(model.tokenizer(), nullptr);
  EXPECT_EQ(model.chat_template(), "");
  EXPECT_EQ(model.hparams().head_dim, 4);
  EXPECT_EQ(model.hparams().n_rot, 4);
  EXPECT_EQ(model.hparams().layers[0].n_head_kv, 2);
  EXPECT_FLOAT_EQ(model.hparams().attention_scale, 0.5F);
}

TEST(Load, tied_embeddings_are_counted_once) {
  const auto tied = load(ModelFile().write("tied"));
  ModelFile two;
  two.tensors["output.weight"] = {DType::kF32, {5, 8}};
  const auto untied = load(two.write("untied"));
  ASSERT_TRUE(tied.ok() && untied.ok());
  EXPECT_EQ((*tied)->n_params(), 5U * 8 + 3 * 8 + 4 * 64 + 3 * 96);
  EXPECT_EQ((*untied)->n_params(), (*tied)->n_params() + 40);
  EXPECT_EQ((*untied)->weight_bytes(), 4 * (*untied)->n_params());
  const auto uses = [](const Model& model, std::string_view name) {
    for (const auto& weight : model.weights()) {
      if (weight.name == name) return int{weight.uses};
    }
    return -1;
  };
  EXPECT_EQ(uses(**tied, "token_embd.weight"), backend::kUseMatMul | backend::kUseRowLookup);
  EXPECT_EQ(uses(**untied, "token_embd.weight"), int{backend::kUseRowLookup});
  EXPECT_EQ(uses(**untied, "output_norm.weight"), int{backend::kUseElementwise});
  EXPECT_EQ((*tied)->weights().size() + 1, (*untied)->weights().size());
}

TEST(Load, every_tiny_model) {
  for (const tests::TinyModelSpec& spec : tests::all_tiny_models()) {
    const std::string path = scratch_path("tiny.gguf");
    ASSERT_TRUE(tests::write_tiny_model(spec, path).ok());
    const auto model = load(path, {.check_tensors = true});
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ((*model)->arch_name(), spec.arch);
    EXPECT_EQ((*model)->type_name(), dtype_name(spec.dtype));
    EXPECT_NE((*model)->tokenizer(), nullptr);
    EXPECT_FALSE((*model)->chat_template().empty());
    EXPECT_EQ((*model)->hparams().n_vocab, tests::kTinyVocab);
  }
}

TEST(Load, counts_out_of_range_are_refused) {
  struct Case {
    const char* key;
    std::int64_t value;
  };
  for (const auto& [key, value] : {
           Case{"embedding_length", 0},
           Case{"embedding_length", -8},
           Case{"embedding_length", INT64_MAX},
           Case{"attention.head_count", 0},
           Case{"attention.head_count", INT64_MAX},
           Case{"attention.head_count_kv", 0},
           Case{"attention.head_count_kv", -1},
           Case{"block_count", 0},
           Case{"block_count", 4294967295},
           Case{"block_count", 2},
           Case{"context_length", 0},
           Case{"context_length", INT64_MAX},
           Case{"feed_forward_length", 0},
           Case{"attention.key_length", 0},
           Case{"attention.key_length", INT64_MAX},
           Case{"rope.dimension_count", 0},
           Case{"rope.dimension_count", 3},
           Case{"rope.dimension_count", 6},
           Case{"attention.sliding_window", -1},
           Case{"vocab_size", 0},
           Case{"expert_count", -1},
       }) {
    ModelFile file;
    file.set(std::string("llama.") + key, value);
    expect_refused(file, StatusCode::kCorrupt,
                   {std::string("\"llama.") + key + "\"", std::to_string(value), "expected"});
  }
}

TEST(Load, heads_must_fit_each_other_and_the_width) {
  ModelFile file;
  file.set("llama.attention.head_count", 3);
  expect_refused(file, StatusCode::kCorrupt, {"head_count\" is 3", "divisor", "8"});
  ModelFile kv;
  kv.set("llama.attention.head_count", 4);
  kv.set("llama.attention.head_count_kv", 3);
  expect_refused(kv, StatusCode::kCorrupt, {"head_count_kv\" is 3", "divisor of the 4 heads"});
  ModelFile array;
  array.set_array("llama.attention.head_count", {2, 2});
  expect_refused(array, StatusCode::kCorrupt, {"head_count", "array of 2", "each of 1 layers"});
}

TEST(Load, arrays_give_each_layer_its_number) {
  ModelFile file;
  file.set_array("llama.attention.head_count", {2});
  file.set_array("llama.attention.head_count_kv", {1});
  file.set_array("llama.feed_forward_length", {12});
  file.tensors["blk.0.attn_k.weight"].shape = {4, 8};
  file.tensors["blk.0.attn_v.weight"].shape = {4, 8};
  const auto model = load(file.write("arrays"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->hparams().layers[0].n_head_kv, 1);
}

TEST(Load, floats_out_of_range_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const char* key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
                          "llama.attention.scale"}) {
    for (const double value : {nan, inf, -inf, 0.0, -1.0, 1e30, 1e-60}) {
      ModelFile file;
      file.set_f(key, value);
      expect_refused(file, StatusCode::kCorrupt, {key, "expected a number above 0"});
    }
  }
}

TEST(Load, required_keys) {
  for (const char* key :
       {"context_length", "embedding_length", "block_count", "feed_forward_length",
        "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    ModelFile file;
    file.keys.erase(std::string("llama.") + key);
    const auto model = load(file.write("no_key"));
    ASSERT_FALSE(model.ok()) << key;
    EXPECT_NE(model.status().message().find(key), std::string::npos) << model.status().message();
  }
}

TEST(Load, maths_that_this_build_lacks_is_refused_by_name) {
  ModelFile yarn;
  yarn.set_s("llama.rope.scaling.type", "yarn");
  expect_refused(yarn, StatusCode::kUnsupported, {"rope.scaling.type", "\"yarn\"", "linear"});
  ModelFile softcap;
  softcap.set_f("llama.final_logit_softcapping", 30.0);
  expect_refused(softcap, StatusCode::kUnsupported, {"final_logit_softcapping", "30"});
  ModelFile value_length;
  value_length.set("llama.attention.value_length", 2);
  expect_refused(value_length, StatusCode::kUnsupported, {"value_length", "2", "key length 4"});
  ModelFile neutral;
  neutral.set_f("llama.final_logit_softcapping", 0.0);
  neutral.set("llama.expert_gating_func", 1);
  EXPECT_TRUE(load(neutral.write("neutral")).ok());
}

TEST(Load, rope_scaling_is_linear_or_none) {
  ModelFile linear;
  linear.set_s("llama.rope.scaling.type", "linear");
  linear.set_f("llama.rope.scaling.factor", 4.0);
  const auto scaled = load(linear.write("linear"));
  ASSERT_TRUE(scaled.ok()) << scaled.status().message();
  EXPECT_FLOAT_EQ((*scaled)->hparams().layers[0].rope_freq_scale, 0.25F);
  linear.set_s("llama.rope.scaling.type", "none");
  const auto none = load(linear.write("none"));
  ASSERT_TRUE(none.ok());
  EXPECT_FLOAT_EQ((*none)->hparams().layers[0].rope_freq_scale, 1.0F);
}

TEST(Load, faulty_tensors_are_named) {
  ModelFile missing;
  missing.tensors.erase("blk.0.ffn_up.weight");
  expect_refused(missing, StatusCode::kNotFound, {"\"blk.0.ffn_up.weight\"", "missing"});
  ModelFile shape;
  shape.tensors["blk.0.ffn_up.weight"].shape = {13, 8};
  expect_refused(shape, StatusCode::kCorrupt, {"\"blk.0.ffn_up.weight\"", "[13, 8]", "[12, 8]"});
  ModelFile rows;
  rows.tensors["token_embd.weight"].shape = {4, 8};
  expect_refused(rows, StatusCode::kCorrupt, {"\"token_embd.weight\"", "[4, 8]", "[5, 8]"});
  ModelFile type;
  type.tensors["blk.0.ffn_up.weight"].dtype = DType::kI32;
  expect_refused(type, StatusCode::kUnsupported, {"\"blk.0.ffn_up.weight\"", "I32"});
  ModelFile extra;
  extra.tensors["blk.0.attn_sinks.weight"] = {DType::kF32, {2}};
  expect_refused(extra, StatusCode::kUnsupported, {"\"blk.0.attn_sinks.weight\"", "no place"});
  ModelFile classifier;
  classifier.tensors["cls.output.weight"] = {DType::kF32, {2}};
  EXPECT_TRUE(load(classifier.write("cls")).ok());
}

TEST(Load, block_quantised_norm_is_refused) {
  tests::TinyModelSpec spec;
  const std::string path = scratch_path("wide.gguf");
  ModelFile file;
  file.set("llama.embedding_length", 32);
  for (auto& [name, tensor] : file.tensors) {
    if (tensor.shape.rank() == 1) tensor.shape = {32};
  }
  file.tensors["output_norm.weight"].dtype = DType::kQ8_0;
  file.tensors["token_embd.weight"].shape = {5, 32};
  expect_refused(file, StatusCode::kUnsupported, {"\"output_norm.weight\"", "Q8_0", "matrices"});
}

TEST(Load, check_tensors_finds_the_first_value_that_is_not_finite) {
  ModelFile file;
  file.bad_value_in = "output_norm.weight";
  const std::string path = file.write("nan");
  EXPECT_TRUE(load(path).ok());
  const auto checked = load(path, {.check_tensors = true});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.status().code(), StatusCode::kNumeric);
  EXPECT_NE(checked.status().message().find("\"output_norm.weight\" (F32) holds nan at element 3"),
            std::string::npos)
      << checked.status().message();
}

TEST(Load, progress_can_cancel) {
  const std::string path = ModelFile().write("cancel");
  double last = -1.0;
  const auto whole = load(path, {.check_tensors = true, .progress = [&](double share) {
                                   EXPECT_GE(share, last);
                                   last = share;
                                   return true;
                                 }});
  EXPECT_TRUE(whole.ok());
  EXPECT_EQ(last, 1.0);
  const auto stopped =
      load(path, {.check_tensors = true, .progress = [](double share) { return share < 0.5; }});
  EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
}

TEST(Load, tokenizer_keys) {
  ModelFile none;
  none.keys.erase("tokenizer.ggml.model");
  expect_refused(none, StatusCode::kCorrupt, {"\"tokenizer.ggml.model\"", "missing"});
  ModelFile ints;
  ints.set_array("tokenizer.ggml.tokens", {1, 2, 3, 4, 5});
  expect_refused(ints, StatusCode::kCorrupt, {"\"tokenizer.ggml.tokens\""});
  ModelFile unknown;
  unknown.set_s("tokenizer.ggml.model", "mystery");
  const auto model = load(unknown.write("mystery"));
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("mystery"), std::string::npos);
}

TEST(Load, unknown_architecture_lists_the_known_ones) {
  ModelFile file;
  file.set_s("general.architecture", "frobnicator");
  expect_refused(file, StatusCode::kUnsupported,
                 {"\"frobnicator\"", "llama, qwen2, qwen3, qwen3moe, gemma3"});
}

// The smallest gemma3 with `n_layer` layers.
std::string gemma3(std::int32_t n_layer) {
  tests::TinyModelSpec spec;
  spec.arch = "gemma3";
  spec.n_layer = n_layer;
  const std::string path = scratch_path("gemma3.gguf");
  EXPECT_TRUE(tests::write_tiny_model(spec, path).ok());
  return path;
}

TEST(Load, gemma3_layers_take_turns) {
  const auto model = load(gemma3(3));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const HParams& hp = (*model)->hparams();
  EXPECT_EQ(hp.layers[0].window, 40);
  EXPECT_EQ(hp.layers[1].window, 0);
  EXPECT_EQ(hp.layers[2].window, 40);
  EXPECT_FLOAT_EQ(hp.layers[0].rope_base, 10000.0F);
  EXPECT_FLOAT_EQ(hp.layers[1].rope_base, 20000.0F);
  EXPECT_FLOAT_EQ(hp.embedding_scale, std::sqrt(44.0F));
}

TEST(Load, gemma3_pattern_may_be_a_period) {
  const std::string path = gemma3(7);
  const auto original = gguf::File::open(path);
  ASSERT_TRUE(original.ok());
  for (const std::int32_t period : {0, 3}) {
    gguf::Writer writer;
    for (const gguf::Entry& entry : original->metadata()) {
      if (!entry.key.ends_with("sliding_window_pattern")) {
        writer.add_value(std::string(entry.key), entry.value);
      } else if (period > 0) {
        writer.add_i32(std::string(entry.key), period);
      }
    }
    for (const gguf::TensorInfo& tensor : original->tensors()) {
      writer.add_tensor(std::string(tensor.name), tensor.dtype, tensor.shape, tensor.data);
    }
    const std::string changed = scratch_path("period.gguf");
    ASSERT_TRUE(writer.write(changed).ok());
    const auto model = load(changed);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const std::int32_t wanted = period > 0 ? period : 6;  // the architecture's own
    for (std::int32_t i = 0; i < 7; ++i) {
      const bool global = i % wanted == wanted - 1;
      EXPECT_EQ((*model)->hparams().layers[static_cast<std::size_t>(i)].window, global ? 0 : 40);
    }
  }
}

}  // namespace
}  // namespace minfer::model
