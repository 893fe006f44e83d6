#include <cstring>

#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_gather_rows(NodeCompiler& compiler) {
  const ValueRef x = compiler.input(0);
  const ValueRef indices = compiler.input(1);
  const ValueRef to = compiler.output(0);
  const std::int64_t n = to.elements();
  compiler.add_rows(to, n / 2, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int32_t from = *indices.ints(c.step, r);
      std::memcpy(to.row(c, r), x.row(c, from), static_cast<std::size_t>(n) * sizeof(float));
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
