#include "bench_cost.h"

#include <algorithm>
#include <cmath>

namespace minfer::app {
namespace {

bool is_output(const backend::WeightSource& weight) {
  const bool tied = (weight.uses & backend::kUseRowLookup) != 0;
  return tied || weight.name == "output.weight";
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  bytes += other.bytes;
  int8_flops += other.int8_flops;
  float_flops += other.float_flops;
  return *this;
}

Cost Cost::operator/(double n) const {
  return {.bytes = bytes / n, .int8_flops = int8_flops / n, .float_flops = float_flops / n};
}

Cost CostModel::weights(std::int32_t n_tokens, std::int32_t n_out) const {
  const model::HParams& hp = model_.hparams();
  Cost cost;
  for (const backend::WeightSource& weight : model_.weights()) {
    if (weight.uses == backend::kUseRowLookup) continue;
    const auto n = static_cast<double>(weight.view.shape.elements());
    const bool matrix = (weight.uses & backend::kUseMatMul) != 0;
    double rows = is_output(weight) ? n_out : n_tokens;
    double share_read = rows > 0 ? 1.0 : 0.0;
    if (matrix && weight.view.shape.rank() == 3) {  // [n_expert, n_out, n_in]
      const double chosen = static_cast<double>(hp.n_expert_used) / hp.n_expert;
      share_read = 1.0 - std::pow(1.0 - chosen, rows);  // expected, of even choices
      rows *= chosen;
    }
    cost.bytes += share_read * static_cast<double>(row_size_bytes(weight.view.dtype,
                                                                  static_cast<std::uint64_t>(n)));
    if (!matrix) continue;
    (is_block_quantized(weight.view.dtype) ? cost.int8_flops : cost.float_flops) += 2.0 * n * rows;
  }
  return cost;
}

Cost CostModel::attention(std::int32_t n_rows, std::int32_t first) const {
  const model::HParams& hp = model_.hparams();
  Cost cost;
  for (const model::LayerHParams& layer : hp.layers) {
    const auto oldest_seen = [&](std::int32_t position) {
      return layer.window > 0 ? std::max(0, position - layer.window + 1) : 0;
    };
    const backend::KvStrips page = backend_.kv_strips(kv_.format, layer.n_head_kv, hp.head_dim);
    const double row_bytes = static_cast<double>(page.bytes()) / backend::kPageRows;
    cost.bytes += row_bytes * (first + n_rows - oldest_seen(first));
    for (std::int32_t position = first; position < first + n_rows; ++position) {
      // Q.K and weights times V.
      cost.float_flops += 4.0 * layer.n_head * hp.head_dim * (position - oldest_seen(position) + 1);
    }
  }
  return cost;
}

Cost CostModel::forward(std::int32_t n_seq, std::int32_t n_rows, std::int32_t first,
                        std::int32_t n_out) const {
  Cost cost = weights(n_seq * n_rows, n_out);
  Cost one = attention(n_rows, first);
  one.bytes *= n_seq;
  one.float_flops *= n_seq;
  return cost += one;
}

}  // namespace minfer::app
