#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {
namespace {

/// Softmax over all experts and the n_used largest, in falling order, ties to the lowest id.
void route_row(const PhaseContext& c, const ir::MoeRouteAttrs& attrs, const float* logits, float* p,
               std::int32_t* ids, float* weights) {
  const std::int32_t n = attrs.n_expert;
  float largest = logits[0];
  for (std::int32_t i = 1; i < n; ++i) largest = logits[i] > largest ? logits[i] : largest;
  for (std::int32_t i = 0; i < n; ++i) p[i] = logits[i] - largest;
  elementwise_kernels(c.isa).exp(p, p, n);
  float sum = 0.0F;
  for (std::int32_t i = 0; i < n; ++i) sum += p[i];
  for (std::int32_t i = 0; i < n; ++i) p[i] /= sum;
  for (std::int32_t rank = 0; rank < attrs.n_used; ++rank) {
    // A row of NaN still takes experts that exist, each once: its weights are NaN all the same.
    std::int32_t best = -1;
    for (std::int32_t i = 0; i < n; ++i) {
      bool taken = false;
      for (std::int32_t k = 0; k < rank; ++k) taken = taken || ids[k] == i;
      if (!taken && (best < 0 || p[i] > p[best])) best = i;
    }
    ids[rank] = best;
    weights[rank] = p[best];
  }
  if (!attrs.normalize) return;
  float chosen = 0.0F;
  for (std::int32_t k = 0; k < attrs.n_used; ++k) chosen += weights[k];
  for (std::int32_t k = 0; k < attrs.n_used; ++k) weights[k] /= chosen;
}

}  // namespace

Status compile_moe_route(NodeCompiler& compiler) {
  const ValueRef logits = compiler.input(0);
  const ValueRef ids = compiler.output(0);
  const ValueRef weights = compiler.output(1);
  const auto attrs = compiler.attrs<ir::MoeRouteAttrs>();
  const auto n = static_cast<std::uint64_t>(attrs.n_expert);
  // The probabilities, then the weights where nobody reads them.
  compiler.need_thread_scratch(2 * aligned(n * sizeof(float)));
  const std::int64_t cost = std::int64_t{attrs.n_expert} * (attrs.n_used + 8);
  compiler.add_rows(logits, cost, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    auto* p = reinterpret_cast<float*>(c.scratch);
    auto* unread = reinterpret_cast<float*>(c.scratch + aligned(n * sizeof(float)));
    for (std::int64_t r = begin; r < end; ++r) {
      route_row(c, attrs, logits.floats(c, r), p, reinterpret_cast<std::int32_t*>(ids.row(c, r)),
                weights.placed ? weights.floats(c, r) : unread);
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
