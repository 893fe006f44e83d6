#include "tests/support/tiny_graph.h"

#include <algorithm>
#include <random>
#include <string_view>

namespace minfer::tests {
namespace {

constexpr float kEps = 1e-5F;
constexpr float kDecay = 0.75F;

}  // namespace

TinyTransformer::TinyTransformer(TinyOptions options) : options_(std::move(options)) {
  std::mt19937 random(options_.seed);
  const auto add = [&](const char* label, std::int32_t layer, Shape shape) {
    Weight weight{.label = label, .layer = layer, .shape = shape, .values = {}};
    const float scale = shape.rank() == 1 ? 0.5F : 1.5F / static_cast<float>(shape.inner());
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const float unit = static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F;
      weight.values.push_back(shape.rank() == 1 ? 1.0F + scale * unit : scale * unit * 3.0F);
    }
    weights_.push_back(std::move(weight));
  };
  add("token_embd", -1, {kVocab, kEmbd});
  for (std::int32_t layer = 0; layer < n_layers(); ++layer) {
    add("attn_norm", layer, {kEmbd});
    add("attn_q", layer, {kHeads * kHeadDim, kEmbd});
    add("attn_k", layer, {kHeadsKv * kHeadDim, kEmbd});
    add("attn_v", layer, {kHeadsKv * kHeadDim, kEmbd});
    add("attn_output", layer, {kEmbd, kHeads * kHeadDim});
    add("ffn_norm", layer, {kEmbd});
    add("ffn_gate", layer, {kFf, kEmbd});
    add("ffn_up", layer, {kFf, kEmbd});
    add("ffn_down", layer, {kEmbd, kFf});
  }
  add("output_norm", -1, {kEmbd});
  add("output", -1, {kVocab, kEmbd});
}

std::vector<backend::WeightSource> TinyTransformer::sources() const {
  std::vector<backend::WeightSource> sources;
  for (const Weight& weight : weights_) {
    sources.push_back({.view = {.data = reinterpret_cast<const std::byte*>(weight.values.data()),
                                .dtype = DType::kF32,
                                .shape = weight.shape},
                       .name = weight.label,
                       .uses = 0});
  }
  return sources;
}

backend::KvGeometry TinyTransformer::geometry(const backend::Backend& backend,
                                              backend::KvFormat format) const {
  std::vector<plan::KvLayerShape> layers;
  for (std::int32_t window : options_.windows) {
    layers.push_back(
        {.n_head_kv = options_.scan_only ? 0 : kHeadsKv, .head_dim = kHeadDim, .window = window});
  }
  auto geometry = plan::make_kv_geometry(backend, format, options_.n_ctx, layers);
  return std::move(geometry).value();
}

std::uint64_t TinyTransformer::state_bytes() const {
  if (!options_.recurrent) return 0;
  return static_cast<std::uint64_t>(n_layers()) * kEmbd * sizeof(float);
}

std::vector<std::uint64_t> TinyTransformer::slot_offset() const {
  std::vector<std::uint64_t> offsets;
  for (std::int32_t layer = 0; layer < n_layers(); ++layer) {
    offsets.push_back(static_cast<std::uint64_t>(layer) * kEmbd * sizeof(float));
  }
  return offsets;
}

std::int32_t TinyTransformer::find(std::string_view label, std::int32_t layer) const {
  const auto found = std::find_if(weights_.begin(), weights_.end(), [&](const Weight& weight) {
    return weight.label == label && weight.layer == layer;
  });
  MINFER_CHECK(found != weights_.end());
  return static_cast<std::int32_t>(found - weights_.begin());
}

/// Writes one graph.
class TinyTransformer::Writer {
 public:
  Writer(const TinyTransformer& model, const plan::GraphParams& params) : m_(model), p_(params) {}

  Result<ir::Graph> write() {
    using ir::InputKind;
    const ir::ValueId ids = b_.input(InputKind::kIds, {p_.n_tokens}, ir::RowDomain::kTokens);
    if (!m_.options_.scan_only) {
      positions_ = b_.input(InputKind::kPositions, {p_.n_tokens}, ir::RowDomain::kTokens);
    }
    sequence_ = b_.input(InputKind::kSequence, {p_.n_tokens}, ir::RowDomain::kTokens);
    if (p_.n_out > 0 && p_.n_out < p_.n_tokens) {
      out_rows_ = b_.input(InputKind::kOutRows, {p_.n_out}, ir::RowDomain::kOut);
    }
    ir::ValueId x = b_.embed(ids, weight("token_embd"), 1.0F, "embd");
    for (std::int32_t layer = 0; layer < m_.n_layers(); ++layer) {
      b_.set_layer(layer);
      x = write_layer(x, layer);
      if (x == ir::kNoValue) break;
    }
    b_.set_layer(-1);
    if (p_.n_out > 0) {
      x = b_.rms_norm(x, weight("output_norm"), kEps, "result_norm");
      if (p_.output == plan::OutputKind::kLogits) x = b_.mat_mul(x, weight("output"), "logits");
      b_.output(x);
    }
    return std::move(b_).finish();
  }

 private:
  ir::ValueId weight(const char* label, std::int32_t layer = -1) {
    const std::int32_t index = m_.find(label, layer);
    return b_.weight(index, DType::kF32, m_.weights_[static_cast<std::size_t>(index)].shape, label);
  }

  /// The inputs of the layers with this window, made at the first of them.
  const ir::KvInputs& kv_inputs(std::int32_t window) {
    for (const auto& [known, inputs] : kv_) {
      if (known == window) return inputs;
    }
    const auto group = static_cast<std::int32_t>(kv_.size());
    const std::int32_t n_pages = (p_.n_ctx + backend::kPageRows - 1) / backend::kPageRows;
    const ir::KvInputs inputs{.pages = b_.input(ir::InputKind::kKvPages, {p_.n_tokens, n_pages},
                                                ir::RowDomain::kTokens, group),
                              .bounds = b_.input(ir::InputKind::kKvBounds, {p_.n_tokens, 2},
                                                 ir::RowDomain::kTokens, group)};
    kv_.emplace_back(window, inputs);
    return kv_.back().second;
  }

  /// kNoValue: the rest of the layer is read by nobody.
  ir::ValueId write_layer(ir::ValueId x, std::int32_t layer) {
    const bool last = layer + 1 == m_.n_layers();
    if (!m_.options_.scan_only) {
      x = write_attention(x, layer, last && p_.n_out == 0);
      if (x == ir::kNoValue) return x;
    }
    if (m_.options_.recurrent) {
      const ir::ScanAttrs attrs{.slot = layer, .decay = kDecay};
      x = b_.add(x, b_.scan(x, sequence_, attrs, "scan"), "scan_out");
    }
    if (last && p_.n_out == 0) return ir::kNoValue;
    if (last && out_rows_ != ir::kNoValue) x = b_.gather_rows(x, out_rows_, "out_rows");
    const ir::ValueId norm = b_.rms_norm(x, weight("ffn_norm", layer), kEps, "ffn_norm");
    const ir::ValueId gate = b_.mat_mul(norm, weight("ffn_gate", layer), "ffn_gate");
    const ir::ValueId up = b_.mat_mul(norm, weight("ffn_up", layer), "ffn_up");
    const ir::ValueId act = b_.glu(gate, up, ir::Activation::kSilu, "ffn_act");
    return b_.add(x, b_.mat_mul(act, weight("ffn_down", layer), "ffn_down"), "ffn_out");
  }

  ir::ValueId write_attention(ir::ValueId x, std::int32_t layer, bool kv_alone) {
    const ir::KvInputs kv = kv_inputs(m_.options_.windows[static_cast<std::size_t>(layer)]);
    ir::RopeAttrs rope{.n_head = kHeads, .head_dim = kHeadDim, .n_rot = kHeadDim};
    if (p_.rope_base > 0) rope.base = p_.rope_base;
    const ir::ValueId norm = b_.rms_norm(x, weight("attn_norm", layer), kEps, "attn_norm");
    const ir::ValueId q = b_.rope(b_.mat_mul(norm, weight("attn_q", layer), "q"), positions_,
                                  ir::kNoValue, rope, "q_rope");
    rope.n_head = kHeadsKv;
    const ir::ValueId k = b_.rope(b_.mat_mul(norm, weight("attn_k", layer), "k"), positions_,
                                  ir::kNoValue, rope, "k_rope");
    const ir::ValueId v = b_.mat_mul(norm, weight("attn_v", layer), "v");
    const ir::ValueId token = b_.kv_store(k, v, positions_, sequence_, kv, layer);
    if (kv_alone) return ir::kNoValue;
    const ir::AttentionAttrs attrs{.layer = layer,
                                   .n_head = kHeads,
                                   .n_head_kv = kHeadsKv,
                                   .head_dim = kHeadDim,
                                   .scale = 0.4F};
    const ir::ValueId attended = b_.attention(q, token, sequence_, kv, attrs, "attn");
    return b_.add(b_.mat_mul(attended, weight("attn_output", layer), "attn_out"), x, "attn_add");
  }

  const TinyTransformer& m_;
  const plan::GraphParams& p_;
  ir::Builder b_;
  ir::ValueId positions_ = ir::kNoValue;
  ir::ValueId sequence_ = ir::kNoValue;
  ir::ValueId out_rows_ = ir::kNoValue;
  std::vector<std::pair<std::int32_t, ir::KvInputs>> kv_;
};

Result<ir::Graph> TinyTransformer::build(const plan::GraphParams& params) const {
  return Writer(*this, params).write();
}

}  // namespace minfer::tests
