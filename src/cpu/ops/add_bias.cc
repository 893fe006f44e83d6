#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_add_bias(NodeCompiler& compiler) {
  const ValueRef x = compiler.input(0);
  const ValueRef to = compiler.output(0);
  MINFER_ASSIGN_OR_RETURN(const std::span<const float> bias, compiler.floats(1));
  const std::int64_t n = to.elements();
  compiler.add_rows(to, n / 2, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      elementwise_kernels(c.isa).add(x.floats(c, r), bias.data(), to.floats(c, r), n);
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
