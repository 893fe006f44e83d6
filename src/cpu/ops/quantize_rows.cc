#include "cpu/mat_mul.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_quantize_rows(NodeCompiler& compiler) {
  const ValueRef x = compiler.input(0);
  const ValueRef to = compiler.output(0);
  const std::int64_t n = to.elements();
  compiler.add_rows(to, 2 * n, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) quantize_row(c.isa, x.floats(c, r), n, to.row(c, r));
  });
  return ok_status();
}

}  // namespace minfer::cpu
