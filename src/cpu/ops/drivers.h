// The driver of every operation, by its name in ir/ops.def: ops/<name>.cc.
#pragma once

#include "base/status.h"

namespace minfer::cpu {

class NodeCompiler;

#define MINFER_OP(enumerator, name, attributes, in_place) \
  Status compile_##name(NodeCompiler& compiler);
#include "ir/ops.def"
#undef MINFER_OP

}  // namespace minfer::cpu
