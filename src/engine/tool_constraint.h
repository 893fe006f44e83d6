// ToolProgram: the grammar of a reply's tool calls, compiled for one model, and constraints of it.
//
// Thread-safety: a ToolProgram is immutable and may be shared; a constraint is one thread's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/tool_grammar.h"
#include "sampling/constraint.h"
#include "sampling/grammar/grammar.h"
#include "sampling/grammar/grammar_vocab.h"
#include "text/tokenizer.h"

namespace minfer::engine {

struct ToolProgram {
  std::shared_ptr<const sampling::Grammar> grammar;  // null: calls are not constrained
  std::vector<std::string> triggers;                 // empty: the grammar holds from the first byte
};

/// What calls of the tools look like in `format`. `options.find_control` is set here, from the
/// vocabulary. Errors: those of make_tool_grammar, and of the tools' schemas, by path.
Result<ToolProgram> compile_tool_program(const chat::ReplyFormat& format,
                                         const chat::ToolSet& tools,
                                         chat::ToolGrammarOptions options,
                                         const text::Tokenizer& tokenizer);

/// The constraint of one reply; null where the program has no grammar. Thoughts are not its: see
/// chat/tool_grammar.h.
Result<std::unique_ptr<sampling::Constraint>> make_tool_constraint(
    const ToolProgram& program, std::shared_ptr<const sampling::GrammarVocab> vocab);

/// Finds the tokens that no text spells: control tokens and those that end a turn.
chat::FindControl control_finder(const text::Tokenizer& tokenizer);

}  // namespace minfer::engine
