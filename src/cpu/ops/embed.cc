#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/mat_mul.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_embed(NodeCompiler& compiler) {
  const ValueRef ids = compiler.input(0);
  const ValueRef to = compiler.output(0);
  MINFER_ASSIGN_OR_RETURN(const PackedWeight* table, compiler.matrix(1));
  const float scale = compiler.attrs<ir::EmbedAttrs>().scale;
  const std::int64_t n = to.elements();
  compiler.add_rows(to, 2 * n, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      float* row = to.floats(c, r);
      decode_row(*table, *ids.ints(c.step, r), row);
      if (scale != 1.0F) elementwise_kernels(c.isa).scale(row, scale, row, n);
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
