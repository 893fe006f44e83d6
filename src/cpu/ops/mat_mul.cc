#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"
#include "cpu/product_phase.h"

namespace minfer::cpu {

Status compile_mat_mul(NodeCompiler& compiler) {
  MINFER_ASSIGN_OR_RETURN(const PackedWeight* weight, compiler.matrix(1));
  const Product product{weight, compiler.output(0)};
  return add_products(compiler, compiler.input(0), {&product, 1});
}

}  // namespace minfer::cpu
