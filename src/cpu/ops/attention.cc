#include "cpu/attention_phase.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {

Status compile_attention(NodeCompiler& compiler) {
  const auto& attrs = compiler.attrs<ir::AttentionAttrs>();
  MINFER_ASSIGN_OR_RETURN(const KvLayerRef kv, compiler.kv_layer(attrs.layer));
  if (kv.n_head_kv != attrs.n_head_kv || kv.layout.head_dim != attrs.head_dim) {
    return internal_error("[cpu] the layer's KV has other heads than its attention");
  }
  compiler.add(attention_phase(compiler, attrs, kv));
  return ok_status();
}

}  // namespace minfer::cpu
