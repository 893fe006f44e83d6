#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/rope/rope.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"
#include "cpu/product_phase.h"
#include "cpu/rope_table.h"

namespace minfer::cpu {
namespace {

/// Everything between the products and attention: bias, QK norm, RoPE, storing K and V.
class QkvTailPhase final : public Phase {
 public:
  ir::FusedQkvAttrs attrs;
  ValueRef q, positions, sequence, pages;
  RowsRef k, v;
  std::span<const float> q_bias, k_bias, v_bias, q_norm, k_norm;
  RopeTable* table = nullptr;
  KvLayerRef kv;

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return q.live(step) * (3 * q_size() + 8 * kv_size());
  }
  void prepare(const backend::StepContext& step) override {
    table->fill({positions.ints(step, 0), static_cast<std::size_t>(q.live(step))});
  }
  void run(const PhaseContext& c) override {
    for_each_chunk(c, q.live(c.step), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) row(c, r);
    });
  }

 private:
  [[nodiscard]] std::int64_t q_size() const {
    return std::int64_t{attrs.rope.n_head} * attrs.rope.head_dim;
  }
  [[nodiscard]] std::int64_t kv_size() const {
    return std::int64_t{attrs.n_head_kv} * attrs.rope.head_dim;
  }

  void row(const PhaseContext& c, std::int64_t r) const {
    const std::int32_t position = *positions.ints(c.step, r);
    finish(c, q.floats(c, r), attrs.rope.n_head, q_bias, q_norm, position);
    finish(c, k.floats(c, r), attrs.n_head_kv, k_bias, k_norm, position);
    float* values = v.floats(c, r);
    if (!v_bias.empty()) elementwise_kernels(c.isa).add(values, v_bias.data(), values, kv_size());
    kv_store_row(c, kv, position, pages.ints(c.step, *sequence.ints(c.step, r)), k.floats(c, r),
                 values);
  }

  /// Bias, norm and rotation of n_head heads at x, in place.
  void finish(const PhaseContext& c, float* x, std::int32_t n_head, std::span<const float> bias,
              std::span<const float> norm, std::int32_t position) const {
    const std::int32_t head_dim = attrs.rope.head_dim;
    const std::int64_t n = std::int64_t{n_head} * head_dim;
    if (!bias.empty()) elementwise_kernels(c.isa).add(x, bias.data(), x, n);
    if (!norm.empty()) {
      for (std::int64_t at = 0; at < n; at += head_dim) {
        norm_kernels(c.isa).rms_norm(x + at, norm.data(), x + at, head_dim, attrs.norm_eps);
      }
    }
    rope_kernels(c.isa).rope(attrs.rope.mode, x, x, n_head, head_dim, attrs.rope.n_rot,
                             table->cosine(position), table->sine(position));
  }
};

}  // namespace

Status compile_fused_qkv(NodeCompiler& compiler) {
  auto tail = std::make_unique<QkvTailPhase>();
  tail->attrs = compiler.attrs<ir::FusedQkvAttrs>();
  const ir::FusedQkvAttrs& attrs = tail->attrs;
  const ValueRef x = compiler.input(0);
  MINFER_ASSIGN_OR_RETURN(const PackedWeight* wq, compiler.matrix(1));
  MINFER_ASSIGN_OR_RETURN(const PackedWeight* wk, compiler.matrix(2));
  MINFER_ASSIGN_OR_RETURN(const PackedWeight* wv, compiler.matrix(3));
  int next = 4;
  const auto take = [&](bool present, std::span<const float>& to) -> Status {
    if (!present) return ok_status();
    MINFER_ASSIGN_OR_RETURN(to, compiler.floats(next++));
    return ok_status();
  };
  MINFER_RETURN_IF_ERROR(take(attrs.q_bias, tail->q_bias));
  MINFER_RETURN_IF_ERROR(take(attrs.k_bias, tail->k_bias));
  MINFER_RETURN_IF_ERROR(take(attrs.v_bias, tail->v_bias));
  MINFER_RETURN_IF_ERROR(take(attrs.q_norm, tail->q_norm));
  MINFER_RETURN_IF_ERROR(take(attrs.k_norm, tail->k_norm));
  tail->positions = compiler.input(next++);
  const int factors = attrs.freq_factors ? next++ : -1;
  MINFER_ASSIGN_OR_RETURN(tail->table, compiler.rope_table(attrs.rope, factors));
  tail->sequence = compiler.input(next++);
  tail->pages = compiler.input(next++);
  MINFER_ASSIGN_OR_RETURN(tail->kv, compiler.kv_layer(attrs.layer));
  if (tail->kv.n_head_kv != attrs.n_head_kv || tail->kv.layout.head_dim != attrs.rope.head_dim) {
    return internal_error("[cpu] the layer's KV has other heads than its projections");
  }

  tail->q = compiler.output(0);
  const std::uint64_t kv_bytes = static_cast<std::uint64_t>(wk->n_rows) * sizeof(float);
  tail->k = compiler.shared_rows(x.capacity(), kv_bytes);
  tail->v = compiler.shared_rows(x.capacity(), kv_bytes);
  const Product products[] = {{wq, tail->q}, {wk, tail->k}, {wv, tail->v}};
  MINFER_RETURN_IF_ERROR(add_products(compiler, x, products));
  compiler.add(std::move(tail));
  return ok_status();
}

}  // namespace minfer::cpu
