#include "model/blocks.h"

#include <algorithm>

#include "model/arch.h"

namespace minfer::model {

using ir::kNoValue;

Blocks::Blocks(const HParams& hp, ir::RopeMode rope_mode, const ModelWeights& weights,
               std::span<const std::int32_t> group_of_layer, const plan::GraphParams& params)
    : hp_(hp),
      rope_mode_(rope_mode),
      weights_(weights),
      group_of_layer_(group_of_layer),
      params_(params),
      kv_inputs_(static_cast<std::size_t>(
                     *std::max_element(group_of_layer.begin(), group_of_layer.end())) +
                 1) {}

void Blocks::begin_layer(std::int32_t layer) {
  layer_ = layer;
  builder_.set_layer(layer);
}

// The tensor's name after "blk.N.": printers put the layer before it. Views of the file's bytes, as
// the weights themselves are.
std::string_view Blocks::label_of(WeightRef ref) const {
  const std::string_view name = weights_.source(ref).name;
  if (!name.starts_with("blk.")) return name;
  return name.substr(name.find('.', 4) + 1);
}

ValueId Blocks::matrix(WeightRef ref) {
  const TensorView& view = weights_.source(ref).view;
  return builder_.weight(ref.index, view.dtype, view.shape, label_of(ref));
}

// Backends hold what is used element by element as F32, whatever the file's type.
ValueId Blocks::vector(WeightRef ref) {
  return builder_.weight(ref.index, DType::kF32, weights_.source(ref).view.shape, label_of(ref));
}

ValueId Blocks::token_input(ValueId& cached, ir::InputKind kind) {
  if (cached == kNoValue) {
    cached = builder_.input(kind, {params_.n_tokens}, ir::RowDomain::kTokens);
  }
  return cached;
}

const ir::KvInputs& Blocks::kv_inputs() {
  const std::int32_t group = group_of_layer_[static_cast<std::size_t>(layer_)];
  ir::KvInputs& kv = kv_inputs_[static_cast<std::size_t>(group)];
  if (kv.pages == kNoValue) {
    const std::int64_t n_pages =
        (std::int64_t{params_.n_ctx} + backend::kPageRows - 1) / backend::kPageRows;
    kv.pages = builder_.input(ir::InputKind::kKvPages, {params_.n_tokens, n_pages},
                              ir::RowDomain::kTokens, group);
    kv.bounds = builder_.input(ir::InputKind::kKvBounds, {params_.n_tokens, 2},
                               ir::RowDomain::kTokens, group);
  }
  return kv;
}

ValueId Blocks::embedding() {
  ValueId ids = kNoValue;
  return builder_.embed(token_input(ids, ir::InputKind::kIds), matrix(weights_.token_embd),
                        hp_.embedding_scale, "embd");
}

ValueId Blocks::norm(ValueId x, WeightRef ref, std::string_view label) {
  if (x == kNoValue) return kNoValue;
  return builder_.rms_norm(x, vector(ref), hp_.norm_eps, label);
}

ValueId Blocks::linear(ValueId x, const Linear& linear, std::string_view label,
                       std::string_view bias_label) {
  if (x == kNoValue) return kNoValue;
  const ValueId y = builder_.mat_mul(x, matrix(linear.weight), label);
  if (!linear.bias) return y;
  return builder_.add_bias(y, vector(linear.bias), bias_label);
}

ValueId Blocks::norm_heads(ValueId x, WeightRef ref, std::string_view label) {
  if (!ref) return x;
  return builder_.rms_norm_heads(x, vector(ref), hp_.norm_eps, hp_.head_dim, label);
}

ValueId Blocks::rope(ValueId x, std::int32_t n_head, std::string_view label) {
  const LayerHParams& lp = layer_hparams();
  ir::RopeAttrs attrs;
  attrs.n_head = n_head;
  attrs.head_dim = hp_.head_dim;
  attrs.n_rot = hp_.n_rot;
  attrs.mode = rope_mode_;
  const bool overrides = !lp.local_rope;
  attrs.base = overrides && params_.rope_base > 0.0F ? params_.rope_base : lp.rope_base;
  attrs.freq_scale =
      overrides && params_.rope_scale > 0.0F ? params_.rope_scale : lp.rope_freq_scale;
  if (weights_.rope_freqs && rope_freqs_ == kNoValue) {
    builder_.set_layer(-1);
    rope_freqs_ = vector(weights_.rope_freqs);
    builder_.set_layer(layer_);
  }
  return builder_.rope(x, token_input(positions_, ir::InputKind::kPositions), rope_freqs_, attrs,
                       label);
}

ValueId Blocks::store_kv(ValueId x) {
  const LayerWeights& w = weights();
  ValueId k = linear(x, w.k, "attn_k", "attn_k_bias");
  const ValueId v = linear(x, w.v, "attn_v", "attn_v_bias");
  k = norm_heads(k, w.k_norm, "attn_k_norm");
  k = rope(k, layer_hparams().n_head_kv, "k_rope");
  return builder_.kv_store(k, v, token_input(positions_, ir::InputKind::kPositions),
                           token_input(sequence_, ir::InputKind::kSequence), kv_inputs(), layer_);
}

ValueId Blocks::gather_outputs(ValueId x, std::string_view label) {
  if (out_rows_ == kNoValue) {
    out_rows_ = builder_.input(ir::InputKind::kOutRows, {params_.n_out}, ir::RowDomain::kOut);
  }
  return builder_.gather_rows(x, out_rows_, label);
}

ValueId Blocks::attention(ValueId x) {
  const LayerWeights& w = weights();
  const LayerHParams& lp = layer_hparams();
  if (is_last_layer() && params_.n_out == 0) {
    store_kv(x);
    return kNoValue;
  }
  ValueId q = linear(x, w.q, "attn_q", "attn_q_bias");
  q = norm_heads(q, w.q_norm, "attn_q_norm");
  q = rope(q, lp.n_head, "q_rope");
  const ValueId stored = store_kv(x);
  const ir::AttentionAttrs attrs{layer_, lp.n_head, lp.n_head_kv, hp_.head_dim,
                                 hp_.attention_scale};
  ValueId y = builder_.attention(q, stored, sequence_, kv_inputs(), attrs, "attn");
  if (is_last_layer() && cuts_rows()) y = gather_outputs(y, "attn_out_rows");
  return linear(y, w.o, "attn_output", "attn_output_bias");
}

ValueId Blocks::residual(ValueId x, ValueId y, std::string_view label) {
  if (y == kNoValue) return kNoValue;
  if (is_last_layer() && cuts_rows() && !residual_is_cut_) {
    x = gather_outputs(x, "residual_out_rows");
    residual_is_cut_ = true;
  }
  return builder_.add(x, y, label);
}

ValueId Blocks::ffn(ValueId x, ir::Activation activation) {
  if (x == kNoValue) return kNoValue;
  const LayerWeights& w = weights();
  const ValueId gate = linear(x, w.gate, "ffn_gate", "ffn_gate_bias");
  const ValueId up = linear(x, w.up, "ffn_up", "ffn_up_bias");
  return linear(builder_.glu(gate, up, activation, "ffn_glu"), w.down, "ffn_down", "ffn_down_bias");
}

ValueId Blocks::mixture(ValueId x, ir::Activation activation) {
  if (x == kNoValue) return kNoValue;
  const LayerWeights& w = weights();
  const std::int32_t n_used = hp_.n_expert_used;
  const ValueId router = linear(x, w.router, "ffn_router", "ffn_router_bias");
  const auto [ids, share] =
      builder_.moe_route(router, {hp_.n_expert, n_used, hp_.expert_weights_norm});
  const ir::MoeMatMulAttrs from_row{n_used, true};
  const ir::MoeMatMulAttrs from_expert{n_used, false};
  const ValueId gate = builder_.moe_mat_mul(x, ids, matrix(w.gate_exps), from_row, "ffn_gate_exps");
  const ValueId up = builder_.moe_mat_mul(x, ids, matrix(w.up_exps), from_row, "ffn_up_exps");
  const ValueId y = builder_.moe_mat_mul(builder_.glu(gate, up, activation, "ffn_glu"), ids,
                                         matrix(w.down_exps), from_expert, "ffn_down_exps");
  return builder_.moe_combine(y, share, n_used, "ffn_mixture");
}

Result<ir::Graph> Blocks::finish(ValueId x) {
  builder_.set_layer(-1);
  if (x != kNoValue) {
    x = norm(x, weights_.output_norm, "output_norm");
    if (params_.output == plan::OutputKind::kLogits) {
      x = linear(x, weights_.output, "logits", "logits_bias");
    }
    builder_.output(x);
  }
  return std::move(builder_).finish();
}

}  // namespace minfer::model
