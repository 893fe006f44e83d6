// Words that the three printers share.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/print.h"

namespace minfer::ir {

inline std::string_view value_kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInput:
      return "input";
    case ValueKind::kWeight:
      return "weight";
    case ValueKind::kKvToken:
      return "kv_token";
    case ValueKind::kTransient:
      return "transient";
  }
  return "unknown";
}

inline std::string_view row_domain_name(RowDomain rows) {
  switch (rows) {
    case RowDomain::kTokens:
      return "tokens";
    case RowDomain::kOut:
      return "out";
    case RowDomain::kFixed:
      return "fixed";
  }
  return "unknown";
}

/// "cpu", or the number where the context has no name for it.
inline std::string backend_name(const PrintContext& context, const Node& node) {
  const auto index = static_cast<std::size_t>(node.backend);
  return index < context.backend_names.size() ? std::string(context.backend_names[index])
                                              : std::to_string(node.backend);
}

/// True for a value whose producer a pass took away.
inline bool is_dead(const Value& value) {
  return (value.kind == ValueKind::kTransient || value.kind == ValueKind::kKvToken) &&
         value.producer == kNoNode;
}

/// "F32 [4, 64]", or "kv" for a KV token, which has no type.
inline std::string type_text(const Value& value) {
  if (value.kind == ValueKind::kKvToken) return "kv";
  return std::string(dtype_name(value.dtype)) + " " + value.shape.to_string();
}

}  // namespace minfer::ir
