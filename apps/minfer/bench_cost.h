// What a forward must read and compute at the least: the yardstick of the speeds in bench.
//
// Counted: each weight that takes part once a forward, at its size in the file, of an expert matrix
// the experts that so many rows reach; K and V of the positions seen, once a forward and sequence;
// multiplications of matrices and attention. Not counted: activations, norms, the embedding's rows.
// Thread-safety: const after construction.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "model/model.h"

namespace minfer::app {

struct Cost {
  double bytes = 0;        // of weights and KV
  double int8_flops = 0;   // two a multiply-add of quantised weights
  double float_flops = 0;  // two a multiply-add of other weights and of attention

  [[nodiscard]] double flops() const { return int8_flops + float_flops; }
  Cost& operator+=(const Cost& other);
  [[nodiscard]] Cost operator/(double n) const;
};

class CostModel {
 public:
  CostModel(const model::Model& model, const backend::Backend& backend,
            const backend::KvGeometry& kv)
      : model_(model), backend_(backend), kv_(kv) {}

  /// A forward of `n_rows` rows at positions first, first + 1, ... of each of `n_seq` sequences,
  /// with logits for `n_out` of all rows.
  [[nodiscard]] Cost forward(std::int32_t n_seq, std::int32_t n_rows, std::int32_t first,
                             std::int32_t n_out) const;

 private:
  [[nodiscard]] Cost weights(std::int32_t n_tokens, std::int32_t n_out) const;
  [[nodiscard]] Cost attention(std::int32_t n_rows, std::int32_t first) const;

  const model::Model& model_;
  const backend::Backend& backend_;
  const backend::KvGeometry& kv_;
};

}  // namespace minfer::app
