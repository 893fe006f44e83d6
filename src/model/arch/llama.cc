// LLaMA (Touvron et al., 2023): pre-norm layers of grouped-query attention and a SwiGLU network;
// Mixtral (Jiang et al., 2024) puts experts in the network's place.
#include "model/arch.h"

namespace minfer::model::arch {
namespace {

void read_keys(KeyReader& keys, HParams& hp) { read_experts(keys, hp, false); }

void bind_layer(LayerBinder& bind) {
  bind.attention();
  if (bind.hparams().n_expert > 0) {
    bind.moe();
  } else {
    bind.ffn();
  }
}

ValueId layer(Blocks& b, ValueId x) {
  const LayerWeights& w = b.weights();
  ValueId y = b.attention(b.norm(x, w.attn_norm, "attn_norm"));
  x = b.residual(x, y, "attn_residual");
  y = b.norm(x, w.ffn_norm, "ffn_norm");
  y = b.hparams().n_expert > 0 ? b.mixture(y, ir::Activation::kSilu)
                               : b.ffn(y, ir::Activation::kSilu);
  return b.residual(x, y, "ffn_residual");
}

}  // namespace

constinit const Architecture llama{"llama", ir::RopeMode::kNormal, read_keys, bind_layer, layer};

}  // namespace minfer::model::arch
