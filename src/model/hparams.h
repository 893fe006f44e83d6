// HParams: the numbers that shape a model, read from its file and checked against each other.
//
// Invariants, after read_hparams(): every count is positive and small enough that products of two
// fit 64 bits; n_head is a multiple of n_head_kv in every layer; n_rot is even and at most
// head_dim; every float is finite; layers.size() == n_layer, and the file has tensors of that many
// layers. Thread-safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "model/key_reader.h"

namespace minfer::model {

struct Architecture;

struct LayerHParams {
  std::int32_t n_head = 0;
  std::int32_t n_head_kv = 0;
  std::int32_t n_ff = 0;
  std::int32_t window = 0;       // positions a token sees, itself included; 0: all
  bool local_rope = false;       // has RoPE numbers of its own, which options do not change
  float rope_base = 10000.0F;    // theta
  float rope_freq_scale = 1.0F;  // multiplies the angle
};

struct HParams {
  std::int32_t n_vocab = 0;
  std::int32_t n_ctx_train = 0;
  std::int32_t n_embd = 0;
  std::int32_t n_layer = 0;
  std::int32_t head_dim = 0;  // of Q, K and V
  std::int32_t n_rot = 0;     // leading elements of a head that RoPE turns
  float norm_eps = 0.0F;
  float attention_scale = 0.0F;  // multiplies Q.K
  float embedding_scale = 1.0F;  // multiplies the token embedding
  float rope_base = 10000.0F;
  float rope_freq_scale = 1.0F;
  std::int32_t n_expert = 0;  // 0: dense
  std::int32_t n_expert_used = 0;
  std::int32_t n_ff_expert = 0;
  bool expert_weights_norm = true;  // the chosen experts' weights are divided by their sum
  std::vector<LayerHParams> layers;
};

/// Reads the keys that every architecture has, then those of `arch`. Errors are one line,
/// "[model] FILE: key "llama.x" is VALUE, but expected ...".
Result<HParams> read_hparams(const gguf::File& file, const Architecture& arch);

// For arch/: keys that some architectures share.

/// expert_count, expert_used_count, expert_feed_forward_length (default: feed_forward_length).
/// `required`: the architecture has no dense form.
void read_experts(KeyReader& keys, HParams& hp, bool required);

/// attention.sliding_window_pattern: an array, 1 for each layer with a window; or a number n: all
/// but every n-th layer have one. Absent: n = `default_period` (1: no layer has one).
std::vector<bool> read_window_pattern(KeyReader& keys, const HParams& hp,
                                      std::int32_t default_period);

}  // namespace minfer::model
