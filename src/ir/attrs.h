// Attributes of the operations: everything about a node that is neither its inputs nor its shape.
//
// Invariants: plain values with ==, so that two graphs can be compared node by node; no pointers,
// nothing that changes from step to step (positions, ids and page tables are inputs).
// Thread-safety: values.
#pragma once

#include <cstdint>
#include <variant>

namespace minfer::ir {

/// Which elements RoPE rotates together.
enum class RopeMode : std::uint8_t {
  kNormal,  // neighbours: (2i, 2i + 1), as in the LLaMA paper's code
  kNeox,    // halves: (i, i + n_rot / 2), as in GPT-NeoX
};

/// Rotary position embedding (Su et al., 2021, "RoFormer").
struct RopeAttrs {
  std::int32_t n_head = 0;    // heads in a row
  std::int32_t head_dim = 0;  // elements of a head
  std::int32_t n_rot = 0;     // leading elements of a head that are rotated; even, <= head_dim
  RopeMode mode = RopeMode::kNormal;
  float base = 10000.0F;    // theta of the paper
  float freq_scale = 1.0F;  // angle multiplier (linear scaling: 1 / factor)
  friend bool operator==(const RopeAttrs&, const RopeAttrs&) = default;
};

/// The activation inside a feed-forward block.
enum class Activation : std::uint8_t { kSilu, kGeluTanh, kGelu, kRelu };

struct NoAttrs {
  friend bool operator==(const NoAttrs&, const NoAttrs&) = default;
};
struct EmbedAttrs {
  float scale = 1.0F;  // multiplies the row (gemma: sqrt(n_embd))
  friend bool operator==(const EmbedAttrs&, const EmbedAttrs&) = default;
};
struct NormAttrs {
  float eps = 0.0F;
  std::int32_t group = 0;  // elements normalised together: the row, or one head
  friend bool operator==(const NormAttrs&, const NormAttrs&) = default;
};
struct ActivationAttrs {
  Activation activation = Activation::kSilu;
  friend bool operator==(const ActivationAttrs&, const ActivationAttrs&) = default;
};
struct ScaleAttrs {
  float factor = 1.0F;
  friend bool operator==(const ScaleAttrs&, const ScaleAttrs&) = default;
};
struct KvStoreAttrs {
  std::int32_t layer = 0;  // the model's layer, which names its KV region
  friend bool operator==(const KvStoreAttrs&, const KvStoreAttrs&) = default;
};
struct AttentionAttrs {
  std::int32_t layer = 0;
  std::int32_t n_head = 0;
  std::int32_t n_head_kv = 0;
  std::int32_t head_dim = 0;  // of Q, K and V
  float scale = 0.0F;         // multiplies Q.K
  friend bool operator==(const AttentionAttrs&, const AttentionAttrs&) = default;
};
struct MoeRouteAttrs {
  std::int32_t n_expert = 0;
  std::int32_t n_used = 0;
  bool normalize = false;  // divide the chosen weights by their sum
  friend bool operator==(const MoeRouteAttrs&, const MoeRouteAttrs&) = default;
};
struct MoeMatMulAttrs {
  std::int32_t n_used = 0;
  bool shared_input = false;  // the chosen experts all read the same row (gate, up), not one each
  friend bool operator==(const MoeMatMulAttrs&, const MoeMatMulAttrs&) = default;
};
struct MoeCombineAttrs {
  std::int32_t n_used = 0;
  friend bool operator==(const MoeCombineAttrs&, const MoeCombineAttrs&) = default;
};
struct ScanAttrs {
  std::int32_t slot = 0;  // which block of the sequence state
  float decay = 0.0F;
  friend bool operator==(const ScanAttrs&, const ScanAttrs&) = default;
};
struct FusedNormAttrs {
  float eps = 0.0F;
  bool residual = false;  // first adds a second input to the first, and returns the sum as well
  bool quantize = false;  // returns the normalised rows as kQ8A instead of F32
  friend bool operator==(const FusedNormAttrs&, const FusedNormAttrs&) = default;
};
struct FusedQkvAttrs {
  RopeAttrs rope;  // n_head is that of Q
  std::int32_t n_head_kv = 0;
  std::int32_t layer = 0;
  float norm_eps = 0.0F;
  bool q_bias = false, k_bias = false, v_bias = false;
  bool q_norm = false, k_norm = false;
  bool freq_factors = false;
  friend bool operator==(const FusedQkvAttrs&, const FusedQkvAttrs&) = default;
};
struct FusedGateUpAttrs {
  Activation activation = Activation::kSilu;
  bool gate_bias = false, up_bias = false;
  bool quantize = false;  // returns kQ8A instead of F32
  friend bool operator==(const FusedGateUpAttrs&, const FusedGateUpAttrs&) = default;
};

using Attrs =
    std::variant<NoAttrs, EmbedAttrs, NormAttrs, ActivationAttrs, ScaleAttrs, RopeAttrs,
                 KvStoreAttrs, AttentionAttrs, MoeRouteAttrs, MoeMatMulAttrs, MoeCombineAttrs,
                 ScanAttrs, FusedNormAttrs, FusedQkvAttrs, FusedGateUpAttrs>;

}  // namespace minfer::ir
