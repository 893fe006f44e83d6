// Qwen3 (Yang et al., 2025): Qwen2's layer with the heads of Q and K normalised before RoPE.
#include "model/arch.h"

namespace minfer::model::arch {
namespace {

void read_keys(KeyReader&, HParams&) {}

void bind_layer(LayerBinder& bind) {
  bind.attention();
  bind.qk_norm();
  bind.ffn();
}

ValueId layer(Blocks& b, ValueId x) {
  const LayerWeights& w = b.weights();
  ValueId y = b.attention(b.norm(x, w.attn_norm, "attn_norm"));
  x = b.residual(x, y, "attn_residual");
  y = b.ffn(b.norm(x, w.ffn_norm, "ffn_norm"), ir::Activation::kSilu);
  return b.residual(x, y, "ffn_residual");
}

}  // namespace

constinit const Architecture qwen3{"qwen3", ir::RopeMode::kNeox, read_keys, bind_layer, layer};

}  // namespace minfer::model::arch
