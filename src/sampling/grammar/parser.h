// GBNF text to a program. The language: docs/grammar.md.
//
// Owns: nothing.
// Invariants: no native recursion; time and memory are linear in the text, whatever the counts of
// repetitions are.
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "sampling/grammar/program.h"

namespace minfer::sampling {

/// `text` as instructions; what only all rules together show is left to check_program(), and jumps
/// still stand in the code. kInvalidArgument, with line, column and rule: what is no GBNF, or past
/// a limit of docs/grammar.md.
Result<Program> parse_grammar(std::string_view text);

}  // namespace minfer::sampling
