// Blocks: the parts that transformer layers are made of, written as graph nodes.
//
// Invariants: building reads the hyper-parameters, the weight table and the graph's parameters, and
// nothing else. kNoValue stands for a value that nobody will read, and whatever is made of it is
// kNoValue too: so the last layer of a chunk without outputs ends with its KV. A bias is added
// wherever the file has one.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/builder.h"
#include "model/hparams.h"
#include "model/weights.h"
#include "plan/graph_params.h"

namespace minfer::model {

using ir::ValueId;

class Blocks {
 public:
  Blocks(const HParams& hp, ir::RopeMode rope_mode, const ModelWeights& weights,
         std::span<const std::int32_t> group_of_layer, const plan::GraphParams& params);

  [[nodiscard]] const HParams& hparams() const { return hp_; }

  /// The layer that the next calls are about.
  void begin_layer(std::int32_t layer);
  /// Its weights.
  [[nodiscard]] const LayerWeights& weights() const {
    return weights_.layers[static_cast<std::size_t>(layer_)];
  }

  /// The rows of the token ids, scaled: [n_tokens, n_embd].
  ValueId embedding();
  /// RMSNorm (Zhang and Sennrich, 2019) of whole rows.
  ValueId norm(ValueId x, WeightRef weight, std::string_view label);
  /// W x + b.
  ValueId linear(ValueId x, const Linear& linear, std::string_view label,
                 std::string_view bias_label);
  /// Grouped-query attention (Ainslie et al., 2023) with RoPE over all positions up to the row's
  /// own, or the layer's window of them, then the output projection. In the last layer only the
  /// rows with outputs come back: x [n_tokens, n_embd] -> [n_tokens or n_out, n_embd].
  ValueId attention(ValueId x);
  /// x + y, in the last layer on the rows with outputs.
  ValueId residual(ValueId x, ValueId y, std::string_view label);
  /// down(activation(gate x) * up x) (Shazeer, 2020).
  ValueId ffn(ValueId x, ir::Activation activation);
  /// The same by the experts that a softmax router picks, weighted.
  ValueId mixture(ValueId x, ir::Activation activation);

  /// Final norm and head.
  Result<ir::Graph> finish(ValueId x);

 private:
  [[nodiscard]] const LayerHParams& layer_hparams() const {
    return hp_.layers[static_cast<std::size_t>(layer_)];
  }
  [[nodiscard]] bool is_last_layer() const { return layer_ == hp_.n_layer - 1; }
  [[nodiscard]] bool cuts_rows() const { return params_.n_out < params_.n_tokens; }

  ValueId matrix(WeightRef ref);
  ValueId vector(WeightRef ref);
  [[nodiscard]] std::string_view label_of(WeightRef ref) const;
  ValueId token_input(ValueId& cached, ir::InputKind kind);
  ValueId rope(ValueId x, std::int32_t n_head, std::string_view label);
  ValueId norm_heads(ValueId x, WeightRef weight, std::string_view label);
  const ir::KvInputs& kv_inputs();
  ValueId store_kv(ValueId x);
  ValueId gather_outputs(ValueId x, std::string_view label);

  const HParams& hp_;
  ir::RopeMode rope_mode_;
  const ModelWeights& weights_;
  std::span<const std::int32_t> group_of_layer_;
  const plan::GraphParams& params_;
  ir::Builder builder_;
  std::int32_t layer_ = -1;
  ValueId positions_ = ir::kNoValue;
  ValueId sequence_ = ir::kNoValue;
  ValueId out_rows_ = ir::kNoValue;
  ValueId rope_freqs_ = ir::kNoValue;
  bool residual_is_cut_ = false;         // the residual stream has only the rows with outputs
  std::vector<ir::KvInputs> kv_inputs_;  // by group
};

}  // namespace minfer::model
