#include "model/weights.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "model/arch.h"
#include "quant/codec.h"

namespace minfer::model {
namespace {

constexpr std::uint8_t kMatrix = backend::kUseMatMul;
constexpr std::uint8_t kVector = backend::kUseElementwise;

/// `shape` without leading extents of 1, which writers add and drop as they like.
Shape squeezed(const Shape& shape) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool last = axis == shape.rank() - 1;
    if (result.rank() > 0 || shape[axis] != 1 || last) result.push_back(shape[axis]);
  }
  return result;
}

/// Tensors of parts that are no language model: a classifier's head.
bool is_ignorable(std::string_view name) { return name.starts_with("cls."); }

std::string tensor_text(const gguf::File& file, std::string_view name) {
  return fmt::format("[model] {}: tensor \"{}\"", file.path(), printable(name));
}

}  // namespace

LayerBinder::LayerBinder(const gguf::File& file, const HParams& hp, ModelWeights& weights)
    : file_(file), hp_(hp), weights_(weights), index_of_tensor_(file.tensors().size(), -1) {
  weights_.layers.resize(static_cast<std::size_t>(hp.n_layer));
  weights_.table.reserve(file.tensors().size());
}

void LayerBinder::begin_layer(std::int32_t layer) { layer_ = layer; }

std::string LayerBinder::full_name(std::string_view suffix) const {
  return layer_ < 0 ? std::string(suffix) : fmt::format("blk.{}.{}", layer_, suffix);
}

Status LayerBinder::check(const gguf::TensorInfo& tensor, const Shape& shape, Uses uses) const {
  const Shape found = tensor.shape;
  if (squeezed(found) != squeezed(shape)) {
    return corrupt(fmt::format("{} has the shape {}, but the hyper-parameters ask for {}",
                               tensor_text(file_, tensor.name), found.to_string(),
                               shape.to_string()));
  }
  const bool decodable = quant::codec(tensor.dtype) != nullptr;
  const bool fits = (uses & backend::kUseElementwise) == 0 || !is_block_quantized(tensor.dtype);
  if (decodable && fits) return ok_status();
  return unsupported(fmt::format("{} has the type {}, which this build {}",
                                 tensor_text(file_, tensor.name), dtype_name(tensor.dtype),
                                 decodable ? "takes for matrices only" : "does not know"));
}

WeightRef LayerBinder::bind(const std::string& name, Shape shape, Uses uses, bool required) {
  if (!status_.ok()) return {};
  const gguf::TensorInfo* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    if (required) status_ = not_found(fmt::format("{} is missing", tensor_text(file_, name)));
    return {};
  }
  status_ = check(*tensor, shape, uses);
  if (!status_.ok()) return {};
  std::int32_t& index = index_of_tensor_[static_cast<std::size_t>(tensor - file_.tensors().data())];
  if (index < 0) {
    index = static_cast<std::int32_t>(weights_.table.size());
    weights_.table.push_back({{tensor->data.data(), tensor->dtype, shape}, tensor->name, 0});
  }
  weights_.table[static_cast<std::size_t>(index)].uses |= uses;
  return {index};
}

WeightRef LayerBinder::need(std::string_view suffix, Shape shape, Uses uses) {
  return bind(full_name(suffix), shape, uses, true);
}

WeightRef LayerBinder::maybe(std::string_view suffix, Shape shape, Uses uses) {
  return bind(full_name(suffix), shape, uses, false);
}

Linear LayerBinder::linear(std::string_view prefix, std::int64_t n_out, std::int64_t n_in) {
  Linear result;
  result.weight = need(fmt::format("{}.weight", prefix), {n_out, n_in}, kMatrix);
  result.bias = maybe(fmt::format("{}.bias", prefix), {n_out}, kVector);
  return result;
}

void LayerBinder::attention() {
  const LayerHParams& lp = hp_.layers[static_cast<std::size_t>(layer_)];
  const std::int64_t n_q = std::int64_t{lp.n_head} * hp_.head_dim;
  const std::int64_t n_kv = std::int64_t{lp.n_head_kv} * hp_.head_dim;
  layer().attn_norm = need("attn_norm.weight", {hp_.n_embd}, kVector);
  layer().q = linear("attn_q", n_q, hp_.n_embd);
  layer().k = linear("attn_k", n_kv, hp_.n_embd);
  layer().v = linear("attn_v", n_kv, hp_.n_embd);
  layer().o = linear("attn_output", hp_.n_embd, n_q);
}

void LayerBinder::qk_norm() {
  layer().q_norm = need("attn_q_norm.weight", {hp_.head_dim}, kVector);
  layer().k_norm = need("attn_k_norm.weight", {hp_.head_dim}, kVector);
}

void LayerBinder::post_norms() {
  layer().post_attn_norm = need("post_attention_norm.weight", {hp_.n_embd}, kVector);
  layer().post_ffn_norm = need("post_ffw_norm.weight", {hp_.n_embd}, kVector);
}

void LayerBinder::ffn() {
  const std::int64_t n_ff = hp_.layers[static_cast<std::size_t>(layer_)].n_ff;
  layer().ffn_norm = need("ffn_norm.weight", {hp_.n_embd}, kVector);
  layer().gate = linear("ffn_gate", n_ff, hp_.n_embd);
  layer().up = linear("ffn_up", n_ff, hp_.n_embd);
  layer().down = linear("ffn_down", hp_.n_embd, n_ff);
}

void LayerBinder::moe() {
  const Shape in{hp_.n_expert, hp_.n_ff_expert, hp_.n_embd};
  const Shape out{hp_.n_expert, hp_.n_embd, hp_.n_ff_expert};
  layer().ffn_norm = need("ffn_norm.weight", {hp_.n_embd}, kVector);
  layer().router = linear("ffn_gate_inp", hp_.n_expert, hp_.n_embd);
  layer().gate_exps = need("ffn_gate_exps.weight", in, kMatrix);
  layer().up_exps = need("ffn_up_exps.weight", in, kMatrix);
  layer().down_exps = need("ffn_down_exps.weight", out, kMatrix);
}

void LayerBinder::whole_model() {
  const Shape embedding{hp_.n_vocab, hp_.n_embd};
  layer_ = -1;
  weights_.token_embd = need("token_embd.weight", embedding, backend::kUseRowLookup);
  weights_.output_norm = need("output_norm.weight", {hp_.n_embd}, kVector);
  weights_.output.weight = maybe("output.weight", embedding, kMatrix);
  if (!weights_.output.weight) {
    weights_.output.weight = need("token_embd.weight", embedding, kMatrix);
  }
  weights_.output.bias = maybe("output.bias", {hp_.n_vocab}, kVector);
  weights_.rope_freqs = maybe("rope_freqs.weight", {hp_.n_rot / 2}, kVector);
}

Status LayerBinder::finish() {
  MINFER_RETURN_IF_ERROR(status_);
  for (std::size_t i = 0; i < index_of_tensor_.size(); ++i) {
    const std::string_view name = file_.tensors()[i].name;
    if (index_of_tensor_[i] >= 0 || is_ignorable(name)) continue;
    return unsupported(
        fmt::format("{} has no place in this architecture", tensor_text(file_, name)));
  }
  return ok_status();
}

Result<ModelWeights> bind_weights(const gguf::File& file, const Architecture& arch,
                                  const HParams& hp) {
  ModelWeights weights;
  LayerBinder binder(file, hp, weights);
  binder.whole_model();
  for (std::int32_t layer = 0; layer < hp.n_layer; ++layer) {
    binder.begin_layer(layer);
    arch.bind_layer(binder);
  }
  MINFER_RETURN_IF_ERROR(binder.finish());
  return weights;
}

}  // namespace minfer::model
