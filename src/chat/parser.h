// Parser: tokens to the tree of a template (the grammar of jinja2 3.1, without inheritance,
// includes and imports).
//
// Invariants: bounded recursion, whatever the source is.
// Thread-safety: pure function.
#pragma once

#include <string_view>

#include "base/status.h"
#include "chat/ast.h"

namespace minfer::chat {

struct ParsedTemplate {
  Block block;
  HiddenNames hidden;
};

/// The statements of `source`. kUnsupported with line and column.
Result<ParsedTemplate> parse_template(std::string_view source);

}  // namespace minfer::chat
