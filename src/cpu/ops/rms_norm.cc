#include "cpu/kernels/norm/norm.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_rms_norm(NodeCompiler& compiler) {
  const ValueRef x = compiler.input(0);
  const ValueRef to = compiler.output(0);
  MINFER_ASSIGN_OR_RETURN(const std::span<const float> weight, compiler.floats(1));
  const auto attrs = compiler.attrs<ir::NormAttrs>();
  const std::int64_t n = to.elements();
  compiler.add_rows(to, n, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    const auto rms_norm = norm_kernels(c.isa).rms_norm;
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t g = 0; g < n; g += attrs.group) {
        rms_norm(x.floats(c, r) + g, weight.data(), to.floats(c, r) + g, attrs.group, attrs.eps);
      }
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
