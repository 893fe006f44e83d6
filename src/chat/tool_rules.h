// Pieces of GBNF text for tool grammars.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "chat/tool_grammar.h"

namespace minfer::chat {

/// `text` as symbols: strings, and references to the control tokens in it, with a blank before
/// each. A token that ends the turn ends it, and what stands behind.
std::string mark_symbols(std::string_view text, const FindControl& find_control);

/// A GBNF string.
std::string gbnf_string(std::string_view text);

/// Rules named `rule` that read any text without `end`. Control tokens are in no text, so an `end`
/// that begins with one forbids nothing.
std::string text_rules(const std::string& rule, std::string_view end,
                       const FindControl& find_control);

}  // namespace minfer::chat
