// The static side of an operation: what its inputs must be and what it yields.
//
// Owns: the table from OpKind to shape rule, made from ops.def. Each rule lives in ops/<name>.cc.
// Thread-safety: constants.
#pragma once

#include <array>

#include "base/status.h"
#include "ir/graph.h"

namespace minfer::ir {

/// What a node yields: one entry an output, filled by its shape rule.
struct OutputSpec {
  ValueKind kind = ValueKind::kTransient;
  DType dtype = DType::kF32;
  RowDomain rows = RowDomain::kFixed;
  Shape shape;
  std::int32_t layer = -1;  // kKvToken: the model's layer whose KV it orders
};

struct OutputSpecs {
  static constexpr int kMax = 3;
  std::array<OutputSpec, kMax> spec;
  int count = 0;
  void push_back(const OutputSpec& s) { spec[static_cast<std::size_t>(count++)] = s; }
};

/// Checks the node's inputs and attributes and gives its outputs. Errors say which input is wrong
/// and what it should have been. The attributes must be of the alternative that ops.def names.
using ShapeRule = Result<OutputSpecs> (*)(const Graph& graph, const Attrs& attrs,
                                          const ValueList& inputs);

ShapeRule shape_rule(OpKind op);

/// True if `attrs` holds the alternative that ops.def names for `op`.
bool attrs_match(OpKind op, const Attrs& attrs);

/// True if running the node changes something besides its outputs (the KV, a sequence's state).
bool has_side_effect(OpKind op);

/// Checks a whole graph: order, producers, every shape rule, one filler an input, one writer a
/// layer's KV, outputs. Names the first bad node.
Status verify(const Graph& graph);

}  // namespace minfer::ir
