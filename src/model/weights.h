// Weights: which tensors of the file a model uses, each checked against the hyper-parameters.
//
// Owns: the weight table (views into the mapped file) and the places that refer to it by index.
// Invariants, after a binding succeeded: every tensor that the architecture needs is there with the
// shape that the hyper-parameters ask for and a type that this build decodes; every tensor of the
// file is used or known to be ignorable; a tensor stands in the table once, however often it is
// used (tied embeddings).
// Thread-safety: values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "gguf/file.h"
#include "model/hparams.h"

namespace minfer::model {

/// An entry of the weight table, or none.
struct WeightRef {
  std::int32_t index = -1;
  [[nodiscard]] explicit operator bool() const { return index >= 0; }
};

/// y = W x + b; the bias is optional everywhere.
struct Linear {
  WeightRef weight;
  WeightRef bias;
};

/// The tensors of one layer. Which are there is the architecture's business: see its bind_layer.
struct LayerWeights {
  WeightRef attn_norm;       // [n_embd]
  Linear q;                  // [n_head * head_dim, n_embd]
  Linear k;                  // [n_head_kv * head_dim, n_embd]
  Linear v;                  // [n_head_kv * head_dim, n_embd]
  Linear o;                  // [n_embd, n_head * head_dim]
  WeightRef q_norm;          // [head_dim]
  WeightRef k_norm;          // [head_dim]
  WeightRef post_attn_norm;  // [n_embd]

  WeightRef ffn_norm;       // [n_embd]
  Linear gate;              // [n_ff, n_embd]
  Linear up;                // [n_ff, n_embd]
  Linear down;              // [n_embd, n_ff]
  WeightRef post_ffn_norm;  // [n_embd]

  Linear router;        // [n_expert, n_embd]
  WeightRef gate_exps;  // [n_expert, n_ff_expert, n_embd]
  WeightRef up_exps;    // [n_expert, n_ff_expert, n_embd]
  WeightRef down_exps;  // [n_expert, n_embd, n_ff_expert]
};

struct ModelWeights {
  std::vector<backend::WeightSource> table;
  WeightRef token_embd;   // [n_vocab, n_embd]
  WeightRef rope_freqs;   // [n_rot / 2], divisors of the angles; optional
  WeightRef output_norm;  // [n_embd]
  Linear output;          // [n_vocab, n_embd]; the token embedding where the file has none
  std::vector<LayerWeights> layers;

  [[nodiscard]] const backend::WeightSource& source(WeightRef ref) const {
    return table[static_cast<std::size_t>(ref.index)];
  }
};

/// Finds the tensors of one layer by their names. The first fault sticks.
class LayerBinder {
 public:
  LayerBinder(const gguf::File& file, const HParams& hp, ModelWeights& weights);

  /// The layer that the next calls are about.
  void begin_layer(std::int32_t layer);
  [[nodiscard]] const HParams& hparams() const { return hp_; }

  void attention();    // norm, Q, K, V, O and their biases
  void qk_norm();      // norms of each head of Q and K
  void post_norms();   // norms of the attention's and the FFN's result
  void ffn();          // norm, gate, up, down and their biases
  void moe();          // norm, router and experts
  void whole_model();  // embedding, final norm, head, RoPE factors

  /// kUnsupported if a tensor was not asked for: the model computes something that minfer does not.
  Status finish();

 private:
  using Uses = std::uint8_t;
  WeightRef bind(const std::string& name, Shape shape, Uses uses, bool required);
  WeightRef need(std::string_view suffix, Shape shape, Uses uses);
  WeightRef maybe(std::string_view suffix, Shape shape, Uses uses);
  Linear linear(std::string_view prefix, std::int64_t n_out, std::int64_t n_in);
  Status check(const gguf::TensorInfo& tensor, const Shape& shape, Uses uses) const;
  [[nodiscard]] std::string full_name(std::string_view suffix) const;
  LayerWeights& layer() { return weights_.layers[static_cast<std::size_t>(layer_)]; }

  const gguf::File& file_;
  const HParams& hp_;
  ModelWeights& weights_;
  std::vector<std::int32_t> index_of_tensor_;  // by place in the file; -1: not bound
  std::int32_t layer_ = -1;
  Status status_;
};

struct Architecture;

/// Binds all tensors of a model of `arch`. Errors name file and tensor: missing (kNotFound), of
/// another shape (kCorrupt), of a type or name that this build does not know (kUnsupported).
Result<ModelWeights> bind_weights(const gguf::File& file, const Architecture& arch,
                                  const HParams& hp);

/// Decodes every tensor of the file once. kNumeric names the first value that is not finite;
/// kCancelled when `progress` (called with the share done) returned false.
Status check_tensors(const gguf::File& file, const std::function<bool(double)>& progress);

}  // namespace minfer::model
