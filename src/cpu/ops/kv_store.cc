#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_kv_store(NodeCompiler& compiler) {
  const ValueRef k = compiler.input(0);
  const ValueRef v = compiler.input(1);
  const ValueRef positions = compiler.input(2);
  const ValueRef sequence = compiler.input(3);
  const ValueRef pages = compiler.input(4);
  MINFER_ASSIGN_OR_RETURN(const KvLayerRef kv,
                          compiler.kv_layer(compiler.attrs<ir::KvStoreAttrs>().layer));
  const std::int64_t n = k.elements();
  if (n != std::int64_t{kv.n_head_kv} * kv.layout.head_dim) {
    return internal_error("[cpu] a row of K is not what the layer's KV holds");
  }
  compiler.add_rows(k, 4 * n, [=](const PhaseContext& c, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      kv_store_row(c, kv, *positions.ints(c.step, r), pages.ints(c.step, *sequence.ints(c.step, r)),
                   k.floats(c, r), v.floats(c, r));
    }
  });
  return ok_status();
}

}  // namespace minfer::cpu
