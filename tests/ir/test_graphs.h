// Graphs for the tests: a small transformer whose details can be switched, with the ids of the
// values that a test wants to disturb.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "ir/builder.h"
#include "ir/op.h"

namespace minfer::ir_test {

using ir::kNoValue;
using ir::ValueId;

struct ModelOptions {
  std::int32_t n_layers = 1;
  std::int64_t n_tokens = 4;
  std::int64_t n_out = 1;  // below n_tokens: the rows are gathered in the last layer
  DType weight_type = DType::kQ8_0;
  bool bias = false;
  bool q_norm = false;
  bool k_norm = false;
  bool freq_factors = false;
  float k_rope_base = 10000.0F;  // another base than Q's: no shared RoPE
  float k_norm_eps = 1e-5F;
};

/// Values of the last layer that was built.
struct LayerValues {
  ValueId attn_norm = kNoValue;
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;  // products, before bias
  ValueId q_rope = kNoValue, k_rope = kNoValue;
  ValueId sum = kNoValue, ffn_norm = kNoValue;
  ValueId gate = kNoValue, up = kNoValue, act = kNoValue;
};

/// Called at the end of a layer, to read values that otherwise have one reader.
using Disturb = std::function<void(ir::Builder&, const LayerValues&)>;

class ModelBuilder {
 public:
  static constexpr std::int64_t kEmbd = 64;
  static constexpr std::int64_t kFf = 96;
  static constexpr std::int64_t kVocab = 128;
  static constexpr std::int32_t kHead = 4;
  static constexpr std::int32_t kHeadKv = 2;
  static constexpr std::int32_t kHeadDim = 16;

  explicit ModelBuilder(const ModelOptions& options, Disturb disturb = {})
      : options_(options), disturb_(std::move(disturb)) {}

  Result<ir::Graph> build() {
    make_inputs();
    ValueId x = b_.embed(ids_, matrix(kVocab, kEmbd, "token_embd"), 1.0F, "embd");
    for (std::int32_t layer = 0; layer < options_.n_layers; ++layer) {
      b_.set_layer(layer);
      x = add_layer(x, layer);
    }
    b_.set_layer(-1);
    x = b_.rms_norm(x, vector(kEmbd, "output_norm.weight"), 1e-5F, "output_norm");
    b_.output(b_.mat_mul(x, matrix(kVocab, kEmbd, "output.weight"), "logits"));
    return std::move(b_).finish();
  }

 private:
  void make_inputs() {
    using ir::InputKind;
    const auto tokens = ir::RowDomain::kTokens;
    const std::int64_t n = options_.n_tokens;
    ids_ = b_.input(InputKind::kIds, {n}, tokens);
    positions_ = b_.input(InputKind::kPositions, {n}, tokens);
    sequence_ = b_.input(InputKind::kSequence, {n}, tokens);
    kv_.pages = b_.input(InputKind::kKvPages, {n, 2}, tokens);
    kv_.bounds = b_.input(InputKind::kKvBounds, {n, 2}, tokens);
    if (options_.n_out < n) {
      out_rows_ = b_.input(InputKind::kOutRows, {options_.n_out}, ir::RowDomain::kOut);
    }
  }

  ValueId matrix(std::int64_t n, std::int64_t k, std::string_view label) {
    return b_.weight(n_weights_++, options_.weight_type, {n, k}, label);
  }
  ValueId vector(std::int64_t n, std::string_view label) {
    return b_.weight(n_weights_++, DType::kF32, {n}, label);
  }
  ValueId biased(ValueId x, std::int64_t n, std::string_view label) {
    return options_.bias ? b_.add_bias(x, vector(n, "bias"), label) : x;
  }

  ValueId heads(ValueId x, std::int32_t n_head, bool norm, float eps, float base) {
    if (norm) x = b_.rms_norm_heads(x, vector(kHeadDim, "head_norm"), eps, kHeadDim, "normed");
    ir::RopeAttrs rope;
    rope.n_head = n_head;
    rope.head_dim = kHeadDim;
    rope.n_rot = kHeadDim;
    rope.base = base;
    const ValueId factors = options_.freq_factors ? freq_factors() : kNoValue;
    return b_.rope(x, positions_, factors, rope, "roped");
  }

  ValueId freq_factors() {
    if (factors_ == kNoValue) factors_ = vector(kHeadDim / 2, "rope_freqs.weight");
    return factors_;
  }

  ValueId attention(ValueId x, std::int32_t layer) {
    const std::int64_t n_kv = kHeadKv * kHeadDim;
    at_.attn_norm = b_.rms_norm(x, vector(kEmbd, "attn_norm.weight"), 1e-5F, "attn_norm");
    at_.q = b_.mat_mul(at_.attn_norm, matrix(kHead * kHeadDim, kEmbd, "attn_q.weight"), "attn_q");
    const ValueId q = biased(at_.q, kHead * kHeadDim, "attn_q_biased");
    at_.k = b_.mat_mul(at_.attn_norm, matrix(n_kv, kEmbd, "attn_k.weight"), "attn_k");
    const ValueId k = biased(at_.k, n_kv, "attn_k_biased");
    at_.v = b_.mat_mul(at_.attn_norm, matrix(n_kv, kEmbd, "attn_v.weight"), "attn_v");
    const ValueId v = biased(at_.v, n_kv, "attn_v_biased");
    at_.q_rope = heads(q, kHead, options_.q_norm, 1e-5F, 10000.0F);
    at_.k_rope = heads(k, kHeadKv, options_.k_norm, options_.k_norm_eps, options_.k_rope_base);
    const ValueId token = b_.kv_store(at_.k_rope, v, positions_, sequence_, kv_, layer);
    const ir::AttentionAttrs attrs{layer, kHead, kHeadKv, kHeadDim, 0.25F};
    return b_.attention(at_.q_rope, token, sequence_, kv_, attrs, "attn");
  }

  ValueId add_layer(ValueId x, std::int32_t layer) {
    ValueId attn = attention(x, layer);
    if (out_rows_ != kNoValue && layer + 1 == options_.n_layers) {
      attn = b_.gather_rows(attn, out_rows_, "attn_out_rows");
      x = b_.gather_rows(x, out_rows_, "x_out_rows");
    }
    at_.sum = b_.add(x, b_.mat_mul(attn, matrix(kEmbd, kEmbd, "attn_output.weight"), "attn_out"),
                     "attn_residual");
    at_.ffn_norm = b_.rms_norm(at_.sum, vector(kEmbd, "ffn_norm.weight"), 1e-5F, "ffn_norm");
    at_.gate = b_.mat_mul(at_.ffn_norm, matrix(kFf, kEmbd, "ffn_gate.weight"), "ffn_gate");
    const ValueId gate = biased(at_.gate, kFf, "ffn_gate_biased");
    at_.up = b_.mat_mul(at_.ffn_norm, matrix(kFf, kEmbd, "ffn_up.weight"), "ffn_up");
    const ValueId up = biased(at_.up, kFf, "ffn_up_biased");
    at_.act = b_.glu(gate, up, ir::Activation::kSilu, "ffn_act");
    const ValueId down = b_.mat_mul(at_.act, matrix(kEmbd, kFf, "ffn_down.weight"), "ffn_down");
    if (disturb_) disturb_(b_, at_);
    return b_.add(at_.sum, down, "ffn_residual");
  }

  ModelOptions options_;
  Disturb disturb_;
  ir::Builder b_;
  LayerValues at_;
  std::int32_t n_weights_ = 0;
  ValueId ids_ = kNoValue, positions_ = kNoValue, sequence_ = kNoValue, out_rows_ = kNoValue;
  ValueId factors_ = kNoValue;
  ir::KvInputs kv_;
};

inline ir::Graph build_model(const ModelOptions& options = {}, Disturb disturb = {}) {
  Result<ir::Graph> graph = ModelBuilder(options, std::move(disturb)).build();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(graph).value() : ir::Graph();
}

inline int count_ops(const ir::Graph& graph, ir::OpKind op) {
  int n = 0;
  for (const ir::Node& node : graph.nodes()) n += node.op == op ? 1 : 0;
  return n;
}

/// The first node of `op`, or null.
inline const ir::Node* find_op(const ir::Graph& graph, ir::OpKind op) {
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == op) return &node;
  }
  return nullptr;
}

}  // namespace minfer::ir_test
