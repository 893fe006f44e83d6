// Qwen3 with experts (Yang et al., 2025): every layer's network is a mixture, and the chosen
// experts' weights are normalised.
#include "model/arch.h"

namespace minfer::model::arch {
namespace {

void read_keys(KeyReader& keys, HParams& hp) { read_experts(keys, hp, true); }

void bind_layer(LayerBinder& bind) {
  bind.attention();
  bind.qk_norm();
  bind.moe();
}

ValueId layer(Blocks& b, ValueId x) {
  const LayerWeights& w = b.weights();
  ValueId y = b.attention(b.norm(x, w.attn_norm, "attn_norm"));
  x = b.residual(x, y, "attn_residual");
  y = b.mixture(b.norm(x, w.ffn_norm, "ffn_norm"), ir::Activation::kSilu);
  return b.residual(x, y, "ffn_residual");
}

}  // namespace

constinit const Architecture qwen3moe{"qwen3moe", ir::RopeMode::kNeox, read_keys, bind_layer,
                                      layer};

}  // namespace minfer::model::arch
