#include "model/hparams.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/printable.h"
#include "model/arch.h"

namespace minfer::model {
namespace {

// Far above any real model, and small enough that a product of two fits 63 bits with room to spare.
constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxContext = 1 << 30;
constexpr std::int64_t kMaxExperts = 1 << 16;
constexpr double kMaxEps = 1.0;
constexpr double kMaxRopeBase = 1e15;
constexpr float kDefaultRopeBase = 10000.0F;

/// Keys whose maths this build lacks, with the values that mean "not used".
struct NeutralKey {
  std::string_view name;
  std::array<double, 2> neutral;
};
constexpr NeutralKey kNeutralKeys[] = {
    {"attention.clamp_kqv", {0, 0}},
    {"attention.max_alibi_bias", {0, 0}},
    {"attn_logit_softcapping", {0, 0}},
    {"final_logit_softcapping", {0, 0}},
    {"attention.causal", {1, 1}},
    {"attention.shared_kv_layers", {0, 0}},
    {"use_parallel_residual", {0, 0}},
    {"logit_scale", {0, 1}},
    {"residual_scale", {0, 1}},
    {"embedding_scale", {0, 1}},
    {"expert_shared_count", {0, 0}},
    {"expert_weights_scale", {0, 1}},
    {"expert_gating_func", {0, 1}},
    {"expert_group_count", {0, 1}},
    {"leading_dense_block_count", {0, 0}},
    {"nextn_predict_layers", {0, 0}},
    {"rope.scaling.attn_factor", {0, 1}},
};

void refuse_unknown_maths(KeyReader& keys) {
  for (const NeutralKey& key : kNeutralKeys) {
    const gguf::Value* value = keys.file().find_value(keys.full_key(key.name));
    if (value == nullptr) continue;
    double number = 0.0;
    if (const auto flag = value->as_bool(); flag.ok()) {
      number = *flag ? 1.0 : 0.0;
    } else if (const auto real = value->as_f64(); real.ok()) {
      number = *real;
    } else {
      keys.fail(key.name, value->to_string(40), "a number");
      continue;
    }
    if (number == key.neutral[0] || number == key.neutral[1]) continue;
    keys.fail_unsupported(key.name, value->to_string(40), fmt::format("{:g} only", key.neutral[1]));
  }
}

/// Layers that the file has tensors of: one more than the greatest N in "blk.N.".
std::int64_t count_layers(const gguf::File& file) {
  constexpr std::string_view kPrefix = "blk.";
  std::int64_t n_layers = 0;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (!tensor.name.starts_with(kPrefix)) continue;
    std::int32_t layer = -1;
    const char* end = tensor.name.data() + tensor.name.size();
    const auto parsed = std::from_chars(tensor.name.data() + kPrefix.size(), end, layer);
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '.' && layer >= 0) {
      n_layers = std::max(n_layers, std::int64_t{layer} + 1);
    }
  }
  return n_layers;
}

// Nothing is sized by the number that the file claims before its tensors bear it out.
std::int32_t read_layer_count(KeyReader& keys) {
  const std::int64_t n_layer = keys.integer("block_count");
  const std::int64_t present = count_layers(keys.file());
  if (n_layer == present && n_layer >= 1) return static_cast<std::int32_t>(n_layer);
  keys.fail("block_count", fmt::to_string(n_layer),
            fmt::format("the {} layers that the file has tensors of, and at least 1", present));
  return 1;
}

/// Tokens of the vocabulary; the embedding has a row for each.
std::int32_t read_vocab_size(KeyReader& keys) {
  const gguf::File& file = keys.file();
  constexpr std::int64_t kMaxVocab = 1 << 28;
  if (const gguf::Value* tokens = file.find_value("tokenizer.ggml.tokens")) {
    const std::uint64_t n = tokens->size();
    if (tokens->is_array() && n >= 1 && n <= kMaxVocab) return static_cast<std::int32_t>(n);
    keys.fail(model_error(file, fmt::format("key \"tokenizer.ggml.tokens\" is {}, but expected an "
                                            "array with a string for each token",
                                            tokens->to_string(40))));
    return 1;
  }
  std::int64_t rows = 1;
  if (const gguf::TensorInfo* embedding = file.find_tensor("token_embd.weight")) {
    rows = embedding->shape.rows();
  }
  return keys.count("vocab_size", {1, kMaxVocab}, rows);
}

/// The angle's multiplier. Only linear scaling (Chen et al., 2023) is known.
float read_rope_freq_scale(KeyReader& keys) {
  const std::string_view type = keys.string("rope.scaling.type", "linear");
  if (type != "none" && type != "linear") {
    keys.fail_unsupported("rope.scaling.type", fmt::format("\"{}\"", printable(type, 40)),
                          "\"none\" and \"linear\"");
  }
  const char* name = keys.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  if (type == "none" || !keys.has(name)) return 1.0F;
  const auto zero = keys.file().f64(keys.full_key(name));
  if (zero.ok() && *zero == 0.0) return 1.0F;  // writers use 0 for "none"
  return 1.0F / keys.real(name, 0.0, 1e6);
}

void read_layers(KeyReader& keys, HParams& hp) {
  const auto n_head = keys.per_layer("attention.head_count", hp.n_layer, {1, kMaxWidth});
  const bool has_kv = keys.has("attention.head_count_kv");
  const auto n_head_kv =
      has_kv ? keys.per_layer("attention.head_count_kv", hp.n_layer, {1, kMaxWidth}) : n_head;
  // A model of experts alone may name only their width.
  const auto n_ff = keys.has("feed_forward_length")
                        ? keys.per_layer("feed_forward_length", hp.n_layer, {1, kMaxWidth})
                        : keys.per_layer("expert_feed_forward_length", hp.n_layer, {1, kMaxWidth});
  const std::int32_t window = keys.count("attention.sliding_window", {0, INT32_MAX}, 0);
  hp.layers.resize(static_cast<std::size_t>(hp.n_layer));
  for (std::size_t i = 0; i < hp.layers.size(); ++i) {
    LayerHParams& layer = hp.layers[i];
    layer.n_head = n_head[i];
    layer.n_head_kv = n_head_kv[i];
    layer.n_ff = n_ff[i];
    layer.window = window;
    layer.rope_base = hp.rope_base;
    layer.rope_freq_scale = hp.rope_freq_scale;
    if (layer.n_head % layer.n_head_kv != 0) {
      keys.fail("attention.head_count_kv", fmt::to_string(layer.n_head_kv),
                fmt::format("a divisor of the {} heads of layer {}", layer.n_head, i));
    }
  }
}

/// head_dim: attention.key_length, or n_embd shared out among the heads.
void read_head_size(KeyReader& keys, HParams& hp) {
  const std::int32_t n_head = hp.layers[0].n_head;
  if (!keys.has("attention.key_length")) {
    const bool uniform = std::all_of(hp.layers.begin(), hp.layers.end(),
                                     [&](const LayerHParams& l) { return l.n_head == n_head; });
    if (!uniform || hp.n_embd % n_head != 0) {
      keys.fail("attention.head_count", fmt::to_string(n_head),
                fmt::format("a divisor of the embedding length {}, as there is no "
                            "attention.key_length",
                            hp.n_embd));
    }
  }
  hp.head_dim = keys.count("attention.key_length", {1, kMaxWidth}, std::max(hp.n_embd / n_head, 1));
  const std::int32_t value = keys.count("attention.value_length", {1, kMaxWidth}, hp.head_dim);
  if (value != hp.head_dim) {
    keys.fail_unsupported("attention.value_length", fmt::to_string(value),
                          fmt::format("only the key length {}", hp.head_dim));
  }
  hp.n_rot = keys.count("rope.dimension_count", {2, hp.head_dim}, hp.head_dim);
  if (hp.n_rot % 2 != 0)
    keys.fail("rope.dimension_count", fmt::to_string(hp.n_rot), "an even number");
  const float natural = 1.0F / std::sqrt(static_cast<float>(hp.head_dim));
  hp.attention_scale = keys.real("attention.scale", 0.0, 1e6, natural);
}

}  // namespace

void read_experts(KeyReader& keys, HParams& hp, bool required) {
  const bool has = required || keys.has("expert_count");
  hp.n_expert = has ? keys.count("expert_count", {required ? 1 : 0, kMaxExperts}) : 0;
  if (hp.n_expert == 0) return;
  hp.n_expert_used = keys.count("expert_used_count", {1, hp.n_expert});
  hp.n_ff_expert = keys.count("expert_feed_forward_length", {1, kMaxWidth}, hp.layers[0].n_ff);
  hp.expert_weights_norm = keys.boolean("expert_weights_norm", hp.expert_weights_norm);
}

std::vector<bool> read_window_pattern(KeyReader& keys, const HParams& hp,
                                      std::int32_t default_period) {
  constexpr const char* kKey = "attention.sliding_window_pattern";
  std::vector<bool> local(static_cast<std::size_t>(hp.n_layer));
  if (keys.is_array(kKey)) {
    const auto flags = keys.per_layer(kKey, hp.n_layer, {0, 1});
    std::transform(flags.begin(), flags.end(), local.begin(), [](int flag) { return flag == 1; });
    return local;
  }
  const std::int32_t period = keys.count(kKey, {1, INT32_MAX}, default_period);
  for (std::int32_t i = 0; i < hp.n_layer; ++i) {
    local[static_cast<std::size_t>(i)] = i % period != period - 1;
  }
  return local;
}

Result<HParams> read_hparams(const gguf::File& file, const Architecture& arch) {
  KeyReader keys(file, arch.name);
  HParams hp;
  hp.n_layer = read_layer_count(keys);
  MINFER_RETURN_IF_ERROR(keys.status());
  refuse_unknown_maths(keys);
  hp.n_vocab = read_vocab_size(keys);
  hp.n_ctx_train = keys.count("context_length", {1, kMaxContext});
  hp.n_embd = keys.count("embedding_length", {1, kMaxWidth});
  hp.norm_eps = keys.real("attention.layer_norm_rms_epsilon", 0.0, kMaxEps);
  hp.rope_base = keys.real("rope.freq_base", 0.0, kMaxRopeBase, kDefaultRopeBase);
  hp.rope_freq_scale = read_rope_freq_scale(keys);
  read_layers(keys, hp);
  read_head_size(keys, hp);
  arch.read_hparams(keys, hp);
  MINFER_RETURN_IF_ERROR(keys.status());
  return hp;
}

}  // namespace minfer::model
