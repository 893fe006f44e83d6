// TinyTransformer: a transformer small enough to run by scalar loops, written with ir::Builder by
// hand: embed -> (norm -> q, k, v -> RoPE -> KV -> attention -> + -> (scan ->) norm -> ffn -> +)*
// -> norm
// -> head. Sizes are no multiple of any tile; weights are random and F32.
//
// Invariants: the graph is a function of GraphParams and the options alone.
// Thread-safety: const after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "ir/builder.h"
#include "plan/graph_params.h"
#include "plan/kv_geometry.h"

namespace minfer::tests {

struct TinyOptions {
  std::vector<std::int32_t> windows = {0, 0};  // of each layer; 0: sees all
  bool recurrent = false;                      // a scan in every layer
  bool scan_only = false;                      // no attention: the scan alone carries the past
  std::int32_t n_ctx = 300;
  std::uint32_t seed = 7;
};

class TinyTransformer {
 public:
  static constexpr std::int32_t kEmbd = 20;
  static constexpr std::int32_t kHeads = 3;
  static constexpr std::int32_t kHeadsKv = 1;
  static constexpr std::int32_t kHeadDim = 6;
  static constexpr std::int32_t kFf = 34;
  static constexpr std::int32_t kVocab = 37;

  explicit TinyTransformer(TinyOptions options = {});

  [[nodiscard]] const TinyOptions& options() const { return options_; }
  [[nodiscard]] std::int32_t n_layers() const {
    return static_cast<std::int32_t>(options_.windows.size());
  }
  [[nodiscard]] std::vector<backend::WeightSource> sources() const;
  [[nodiscard]] backend::KvGeometry geometry(const backend::Backend& backend,
                                             backend::KvFormat format) const;
  /// Bytes of recurrent state of a sequence and where each layer's starts.
  [[nodiscard]] std::uint64_t state_bytes() const;
  [[nodiscard]] std::vector<std::uint64_t> slot_offset() const;
  [[nodiscard]] Result<ir::Graph> build(const plan::GraphParams& params) const;

 private:
  struct Weight {
    const char* label = "";
    std::int32_t layer = -1;
    Shape shape;
    std::vector<float> values;
  };
  class Writer;
  [[nodiscard]] std::int32_t find(std::string_view label, std::int32_t layer) const;

  TinyOptions options_;
  std::vector<Weight> weights_;
};

}  // namespace minfer::tests
