#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_glu(NodeCompiler& compiler) {
  const ValueRef gate = compiler.input(0);
  const ValueRef up = compiler.input(1);
  const ValueRef to = compiler.output(0);
  const ir::Activation kind = compiler.attrs<ir::ActivationAttrs>().activation;
  const std::int64_t n = to.elements();
  compiler.add_rows(to, 4 * n, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      elementwise_kernels(c.isa).glu(kind, gate.floats(c, r), up.floats(c, r), to.floats(c, r), n);
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
