#include "tests/support/tiny_model.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "gguf/writer.h"
#include "quant/codec.h"
#include "tests/support/tiny_vocab.h"

namespace minfer::tests {
namespace {

constexpr std::int32_t kExperts = 5;
constexpr std::int32_t kExpertsUsed = 2;
constexpr const char* kArchitectures[] = {"llama", "qwen2", "qwen3", "qwen3moe", "gemma3"};

struct Sizes {
  std::int32_t n_embd, n_head, n_head_kv, head_dim, n_ff;
};

Sizes smallest_sizes(DType dtype) {
  switch (dtype_info(dtype).block_elements) {
    case 1:
      return {44, 6, 2, 18, 74};
    case 32:
      return {160, 6, 2, 32, 224};
    default:
      return {256, 8, 2, 32, 512};
  }
}

/// Types that share the paths of experts with the others: one model each, and a small one, is
/// enough.
bool one_model_is_enough(DType dtype) {
  const std::string_view name = dtype_name(dtype);
  return name.starts_with("IQ") || name.starts_with("TQ") || name == "Q2_K" || name == "Q3_K";
}

/// Noise whose every bit is fixed by (seed, tensor, place): SplitMix64 of a counter.
class Noise {
 public:
  Noise(std::uint64_t seed, std::uint64_t tensor) : state_(seed * 0x9e3779b97f4a7c15U + tensor) {}

  /// Mean 0, deviation 1: the sum of three uniform numbers in [-1, 1).
  float next() {
    float sum = 0.0F;
    for (int i = 0; i < 3; ++i) sum += static_cast<float>(bits() >> 40) * 0x1p-23F - 1.0F;
    return sum;
  }

 private:
  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

class TinyModel {
 public:
  explicit TinyModel(const TinyModelSpec& spec) : spec_(spec), sizes_(smallest_sizes(spec.dtype)) {
    if (spec.n_embd > 0) sizes_.n_embd = spec.n_embd;
    if (spec.n_head > 0) sizes_.n_head = spec.n_head;
    if (spec.n_head_kv > 0) sizes_.n_head_kv = spec.n_head_kv;
    if (spec.head_dim > 0) sizes_.head_dim = spec.head_dim;
    if (spec.n_ff > 0) sizes_.n_ff = spec.n_ff;
  }

  Status write(const std::string& path) {
    if (quant::codec(spec_.dtype) == nullptr) {
      return invalid_argument(fmt::format("no codec for {}", dtype_name(spec_.dtype)));
    }
    add_keys();
    add_tiny_vocab(writer_, spec_.tokenizer, spec_.chat_template);
    add_model_tensors();
    for (std::int32_t layer = 0; layer < spec_.n_layer; ++layer) add_layer(layer);
    return writer_.write(path);
  }

 private:
  [[nodiscard]] bool is(std::string_view arch) const { return spec_.arch == arch; }
  [[nodiscard]] bool has_experts() const { return spec_.experts || is("qwen3moe"); }

  void count(std::string_view name, std::int32_t value) {
    writer_.add_u32(fmt::format("{}.{}", spec_.arch, name), static_cast<std::uint32_t>(value));
  }

  void add_keys() {
    writer_.add_string("general.architecture", spec_.arch);
    writer_.add_string("general.name", fmt::format("Tiny {}", tiny_model_name(spec_)));
    count("vocab_size", kTinyVocab);
    count("context_length", spec_.n_ctx_train);
    count("embedding_length", sizes_.n_embd);
    count("block_count", spec_.n_layer);
    count("feed_forward_length", sizes_.n_ff);
    count("attention.head_count", sizes_.n_head);
    count("attention.head_count_kv", sizes_.n_head_kv);
    count("attention.key_length", sizes_.head_dim);
    count("attention.value_length", sizes_.head_dim);
    writer_.add_f32(fmt::format("{}.attention.layer_norm_rms_epsilon", spec_.arch), 1e-5F);
    writer_.add_f32(fmt::format("{}.rope.freq_base", spec_.arch), 20000.0F);
    if (has_experts()) {
      count("expert_count", kExperts);
      count("expert_used_count", kExpertsUsed);
      count("expert_feed_forward_length", sizes_.n_ff);
    }
    if (is("gemma3")) {
      count("attention.sliding_window", spec_.window);
      std::vector<bool> local(static_cast<std::size_t>(spec_.n_layer), true);
      if (spec_.n_layer > 1) local[1] = false;
      writer_.add_bool_array("gemma3.attention.sliding_window_pattern", local);
    }
  }

  /// A tensor of noise times `deviation` around `mean`.
  void add(std::string name, DType dtype, Shape shape, float mean, float deviation) {
    const auto n = static_cast<std::size_t>(shape.elements());
    Noise noise(spec_.seed, n_tensors_++);
    std::vector<float> values(n);
    for (float& value : values) value = mean + deviation * noise.next();
    auto& bytes = data_.emplace_back(row_size_bytes(dtype, n));
    quant::codec(dtype)->encode_row(values.data(), bytes.data(), static_cast<std::int64_t>(n));
    writer_.add_tensor(std::move(name), dtype, shape, bytes);
  }

  void vector(std::string name, std::int64_t n, float mean) {
    add(std::move(name), DType::kF32, {n}, mean, 0.1F);
  }
  // Products keep the size of their input, so that no layer drowns out the others.
  void matrix(std::string name, std::int64_t n_out, std::int64_t n_in) {
    add(std::move(name), spec_.dtype, {n_out, n_in}, 0.0F,
        1.0F / std::sqrt(static_cast<float>(n_in)));
  }
  void experts(std::string name, std::int64_t n_out, std::int64_t n_in) {
    add(std::move(name), spec_.dtype, {kExperts, n_out, n_in}, 0.0F,
        1.0F / std::sqrt(static_cast<float>(n_in)));
  }

  void add_model_tensors() {
    add("token_embd.weight", spec_.dtype, {kTinyVocab, sizes_.n_embd}, 0.0F, 1.0F);
    vector("output_norm.weight", sizes_.n_embd, 1.0F);
    if (!spec_.tied) matrix("output.weight", kTinyVocab, sizes_.n_embd);
    if (spec_.biases) vector("output.bias", kTinyVocab, 0.0F);
    if (spec_.rope_freqs) vector("rope_freqs.weight", sizes_.head_dim / 2, 1.5F);
  }

  void add_layer(std::int32_t layer) {
    const auto name = [&](std::string_view suffix) {
      return fmt::format("blk.{}.{}", layer, suffix);
    };
    const std::int64_t n_embd = sizes_.n_embd;
    const std::int64_t n_q = std::int64_t{sizes_.n_head} * sizes_.head_dim;
    const std::int64_t n_kv = std::int64_t{sizes_.n_head_kv} * sizes_.head_dim;
    vector(name("attn_norm.weight"), n_embd, 1.0F);
    matrix(name("attn_q.weight"), n_q, n_embd);
    matrix(name("attn_k.weight"), n_kv, n_embd);
    matrix(name("attn_v.weight"), n_kv, n_embd);
    matrix(name("attn_output.weight"), n_embd, n_q);
    if (is("qwen2") || spec_.biases) {
      vector(name("attn_q.bias"), n_q, 0.0F);
      vector(name("attn_k.bias"), n_kv, 0.0F);
      vector(name("attn_v.bias"), n_kv, 0.0F);
    }
    if (spec_.biases) vector(name("attn_output.bias"), n_embd, 0.0F);
    if (is("qwen3") || is("qwen3moe") || is("gemma3")) {
      vector(name("attn_q_norm.weight"), sizes_.head_dim, 1.0F);
      vector(name("attn_k_norm.weight"), sizes_.head_dim, 1.0F);
    }
    if (is("gemma3")) {
      vector(name("post_attention_norm.weight"), n_embd, 1.0F);
      vector(name("post_ffw_norm.weight"), n_embd, 1.0F);
    }
    vector(name("ffn_norm.weight"), n_embd, 1.0F);
    if (has_experts()) {
      add(name("ffn_gate_inp.weight"), DType::kF32, {kExperts, n_embd}, 0.0F, 0.5F);
      experts(name("ffn_gate_exps.weight"), sizes_.n_ff, n_embd);
      experts(name("ffn_up_exps.weight"), sizes_.n_ff, n_embd);
      experts(name("ffn_down_exps.weight"), n_embd, sizes_.n_ff);
      return;
    }
    matrix(name("ffn_gate.weight"), sizes_.n_ff, n_embd);
    matrix(name("ffn_up.weight"), sizes_.n_ff, n_embd);
    matrix(name("ffn_down.weight"), n_embd, sizes_.n_ff);
    if (!spec_.biases) return;
    vector(name("ffn_gate.bias"), sizes_.n_ff, 0.0F);
    vector(name("ffn_up.bias"), sizes_.n_ff, 0.0F);
    vector(name("ffn_down.bias"), n_embd, 0.0F);
  }

  TinyModelSpec spec_;
  Sizes sizes_;
  gguf::Writer writer_;
  std::deque<std::vector<std::byte>> data_;  // the writer keeps views until it writes
  std::uint64_t n_tensors_ = 0;
};

}  // namespace

std::string tiny_model_name(const TinyModelSpec& spec) {
  return fmt::format("{}{}-{}{}{}", spec.arch,
                     spec.experts && spec.arch != "qwen3moe" ? "-moe" : "", dtype_name(spec.dtype),
                     spec.tied ? "-tied" : "", spec.biases ? "-biases" : "");
}

std::vector<TinyModelSpec> all_tiny_models() {
  std::vector<TinyModelSpec> specs;
  for (const char* arch : kArchitectures) {
    TinyModelSpec spec;
    spec.arch = arch;
    specs.push_back(spec);
    spec.dtype = DType::kQ4_K;
    spec.tied = true;
    specs.push_back(spec);
  }
  TinyModelSpec mixture;
  mixture.experts = true;
  specs.push_back(mixture);
  TinyModelSpec biases;
  biases.biases = true;
  biases.rope_freqs = true;
  specs.push_back(biases);
  for (const quant::Codec& codec : quant::all_codecs()) {
    TinyModelSpec spec;
    spec.dtype = codec.dtype;
    if (one_model_is_enough(spec.dtype)) spec.n_layer = 2;
    if (spec.dtype != DType::kF32 && spec.dtype != DType::kQ4_K) specs.push_back(spec);
    if (one_model_is_enough(spec.dtype)) continue;
    spec.experts = true;
    spec.tied = true;
    specs.push_back(spec);
  }
  return specs;
}

Status write_tiny_model(const TinyModelSpec& spec, const std::string& path) {
  return TinyModel(spec).write(path);
}

}  // namespace minfer::tests
