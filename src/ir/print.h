// Printers of a graph: one line a node, DOT for Graphviz, JSON for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace minfer::ir {

/// What the printers need to know beside the graph.
struct PrintContext {
  std::span<const std::string_view> backend_names;  // by Node::backend; may be empty
};

std::string to_text(const Graph& graph, const PrintContext& context = {});
std::string to_dot(const Graph& graph, const PrintContext& context = {});
/// {"nodes":[{"id","op","layer","backend","attrs":{...},"inputs":[...],"outputs":[...]}],
///  "values":[{"id","name","kind","dtype","shape","rows"}],"outputs":[...]}
/// with value ids in the lists; values that no node makes any more are left out.
std::string to_json(const Graph& graph, const PrintContext& context = {});

}  // namespace minfer::ir
