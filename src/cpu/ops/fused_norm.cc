#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/norm/norm.h"
#include "cpu/mat_mul.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_fused_norm(NodeCompiler& compiler) {
  const auto attrs = compiler.attrs<ir::FusedNormAttrs>();
  const ValueRef x = compiler.input(0);
  const ValueRef y = attrs.residual ? compiler.input(1) : ValueRef{};
  MINFER_ASSIGN_OR_RETURN(const std::span<const float> weight,
                          compiler.floats(attrs.residual ? 2 : 1));
  const ValueRef sum = attrs.residual ? compiler.output(0) : ValueRef{};
  const ValueRef to = compiler.output(attrs.residual ? 1 : 0);
  const std::int64_t n = x.elements();
  const std::uint64_t row_bytes = aligned(static_cast<std::uint64_t>(n) * sizeof(float));
  compiler.need_thread_scratch(2 * row_bytes);
  const std::int64_t cost = n * (attrs.quantize ? 3 : 1);
  compiler.add_rows(x, cost, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    auto* scratch = reinterpret_cast<float*>(c.scratch);
    auto* scratch_sum = reinterpret_cast<float*>(c.scratch + row_bytes);
    for (std::int64_t r = begin; r < end; ++r) {
      const float* row = x.floats(c, r);
      if (attrs.residual) {
        float* added = sum.placed ? sum.floats(c, r) : scratch_sum;
        elementwise_kernels(c.isa).add(row, y.floats(c, r), added, n);
        row = added;
      }
      float* normed = attrs.quantize ? scratch : to.floats(c, r);
      norm_kernels(c.isa).rms_norm(row, weight.data(), normed, n, attrs.eps);
      if (attrs.quantize) quantize_row(c.isa, normed, n, to.row(c, r));
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
