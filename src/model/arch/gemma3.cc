// Gemma 3 (Gemma Team, 2025): five layers that see a sliding window for each that sees all, with
// RoPE bases of their own; heads of Q and K normalised; norms before and after each block; GeGLU;
// embeddings scaled by sqrt(n_embd).
#include <cmath>

#include "model/arch.h"

namespace minfer::model::arch {
namespace {

constexpr std::int32_t kPeriod = 6;         // every sixth layer is global
constexpr float kLocalRopeBase = 10000.0F;  // files have no key for it
constexpr float kGlobalRopeBase = 1000000.0F;
constexpr std::int32_t kLayersOf27B = 62;

void read_keys(KeyReader& keys, HParams& hp) {
  hp.embedding_scale = std::sqrt(static_cast<float>(hp.n_embd));
  // The 27B model scales by its width over its heads (168), not by the head size (128); its files
  // have no key for that either.
  if (hp.n_layer == kLayersOf27B && !keys.has("attention.scale")) {
    hp.attention_scale =
        1.0F / std::sqrt(static_cast<float>(hp.n_embd) / static_cast<float>(hp.layers[0].n_head));
  }
  if (!keys.has("rope.freq_base")) hp.rope_base = kGlobalRopeBase;
  const float local_base = keys.real("rope.freq_base_swa", 0.0, 1e15, kLocalRopeBase);
  const std::int32_t window = keys.count("attention.sliding_window", {1, INT32_MAX});
  const std::vector<bool> local = read_window_pattern(keys, hp, kPeriod);
  for (std::size_t i = 0; i < hp.layers.size(); ++i) {
    LayerHParams& layer = hp.layers[i];
    layer.local_rope = local[i];
    layer.window = local[i] ? window : 0;
    layer.rope_base = local[i] ? local_base : hp.rope_base;
    layer.rope_freq_scale = local[i] ? 1.0F : hp.rope_freq_scale;
  }
}

void bind_layer(LayerBinder& bind) {
  bind.attention();
  bind.qk_norm();
  bind.ffn();
  bind.post_norms();
}

ValueId layer(Blocks& b, ValueId x) {
  const LayerWeights& w = b.weights();
  ValueId y = b.attention(b.norm(x, w.attn_norm, "attn_norm"));
  x = b.residual(x, b.norm(y, w.post_attn_norm, "post_attention_norm"), "attn_residual");
  y = b.ffn(b.norm(x, w.ffn_norm, "ffn_norm"), ir::Activation::kGeluTanh);
  return b.residual(x, b.norm(y, w.post_ffn_norm, "post_ffw_norm"), "ffn_residual");
}

}  // namespace

constinit const Architecture gemma3{"gemma3", ir::RopeMode::kNeox, read_keys, bind_layer, layer};

}  // namespace minfer::model::arch
