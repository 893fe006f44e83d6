// ToolGrammar: the GBNF rules of the calls that a reply may hold, in the format of a template.
//
// Use: 1. ToolGrammar g = make_tool_grammar(format, tools, options);
// 2. for each g.schemas: append json_schema_to_gbnf(schema, {.root = rule, .prefix = rule + "-",
//    .bare_end = bare_end}) to g.rules, errors with context(path);
// 3. compile; where g.triggers is empty the grammar holds from the first byte of the reply, else a
//    LazyConstraint starts it at a trigger. Where g.rules is empty nothing is constrained.
//
// Thoughts are not the grammar's: while ReplyParser::in_reasoning() the constraint is taken off,
// and what is drawn then, the mark that ends the thought included, is not shown to it.
//
// Invariants: every text of the grammar is read by ReplyParser as calls of these tools, with
// arguments that fit their schemas. Thread-safety: pure functions, values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat/reply_format.h"
#include "chat/tool_schema.h"

namespace minfer::chat {

/// A control token that is spelled out in a text: bytes [at, at + size).
struct ControlMark {
  std::size_t at = 0;
  std::size_t size = 0;
  std::int32_t id = -1;
  bool ends_turn = false;  // an end-of-generation token
};

/// The first control token in a text; nothing where there is none. Marks that are ordinary or
/// user-defined tokens are text.
using FindControl = std::function<std::optional<ControlMark>(std::string_view text)>;

struct ToolGrammarOptions {
  ToolChoice choice;
  bool parallel = true;  // more than one call, where the format has several
  ReplyStart start = ReplyStart::kAnswer;
  FindControl find_control;  // empty: no control tokens
};

struct SchemaRule {
  std::string rule;      // the name that g.rules refers to
  JsonValue schema;      // what the rule must read, as JSON
  std::string bare_end;  // not empty: a text without quotes and escapes that does not hold this
  std::string path;      // of the schema in the request: "tools[0].function.parameters"
};

struct ToolGrammar {
  std::vector<std::string> triggers;
  std::string rules;
  std::vector<SchemaRule> schemas;
};

/// The grammar for choice auto (calls are free, but well-formed), required or named (a call, before
/// which a thought may begin where the format has thoughts). kUnsupported: the format has no calls;
/// a schema whose top level cannot be written as a list of parameters, by path.
Result<ToolGrammar> make_tool_grammar(const ReplyFormat& format, const ToolSet& tools,
                                      const ToolGrammarOptions& options);

}  // namespace minfer::chat
