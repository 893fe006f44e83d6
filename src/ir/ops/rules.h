// The shape rules by name: one function a row of ops.def, <name>_rule, each in ops/<name>.cc.
#pragma once

#include "ir/op.h"

namespace minfer::ir::ops {

#define MINFER_OP(enumerator, name, attributes, in_place) \
  Result<OutputSpecs> name##_rule(const Graph& graph, const Attrs& attrs, const ValueList& inputs);
#include "ir/ops.def"
#undef MINFER_OP

}  // namespace minfer::ir::ops
