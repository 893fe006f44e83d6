// The grammar that an answer must follow, as the options ask for it.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "parse.h"
#include "sampling/constraint.h"
#include "sampling/grammar/grammar.h"
#include "sampling/grammar/grammar_vocab.h"
#include "text/tokenizer.h"

namespace minfer::app {

struct OutputGrammar {
  std::shared_ptr<const sampling::Grammar> grammar;     // null: the answer is free
  std::string noun = "text";                            // what the answer is, for messages
  std::shared_ptr<const sampling::GrammarVocab> vocab;  // made with the first constraint

  explicit operator bool() const { return grammar != nullptr; }
};

/// What --grammar, --json-schema and their kin ask for, compiled. Needs no model. kInvalidArgument:
/// two options that exclude each other, a grammar that is none, with line, column and rule, or a
/// schema that is none or not supported, with keyword and JSON pointer.
Result<OutputGrammar> output_grammar(const Invocation& invocation);

/// A constraint for one answer; null where the answer is free. The first one for a grammar takes up
/// to 0.1 s, the others are cheap: all must be for the same model. kInvalidArgument: the grammar
/// names a token that the model does not have.
Result<std::unique_ptr<sampling::Constraint>> make_constraint(OutputGrammar& grammar,
                                                              const text::Tokenizer& tokenizer,
                                                              std::int32_t n_vocab);

/// The exit status of an answer that was cut before its grammar ended.
inline constexpr int kExitIncomplete = 3;
/// And the line that says so; `context_full`: it was cut by the end of the context.
std::string incomplete_note(const OutputGrammar& grammar, bool context_full);

}  // namespace minfer::app
