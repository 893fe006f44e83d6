#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_moe_combine(NodeCompiler& compiler) {
  const ValueRef y = compiler.input(0);
  const ValueRef weights = compiler.input(1);
  const ValueRef to = compiler.output(0);
  const std::int32_t n_used = compiler.attrs<ir::MoeCombineAttrs>().n_used;
  const std::int64_t n = to.elements();
  const std::int64_t cost = n * n_used;
  compiler.add_rows(to, cost, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    const ElementwiseKernels& kernels = elementwise_kernels(c.isa);
    for (std::int64_t r = begin; r < end; ++r) {
      const float* w = weights.floats(c, r);
      kernels.scale(y.floats(c, r), w[0], to.floats(c, r), n);
      for (std::int32_t i = 1; i < n_used; ++i) {
        kernels.add_scaled(w[i], y.floats(c, r) + i * n, to.floats(c, r), n);
      }
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
