// What only all rules of a grammar together show: that each is defined, ends, and reads something
// before it comes back to itself.
//
// Invariants: time and memory are linear in the code; no native recursion.
// Thread-safety: pure functions.
#pragma once

#include "base/status.h"
#include "sampling/grammar/program.h"

namespace minfer::sampling {

/// Finishes what parse_grammar() read: sets the entry, takes jumps out, and lets loops over what
/// may read nothing count from 0. kInvalidArgument, with line, column and rule: no rule `root`, an
/// undefined rule, left recursion, a rule that cannot end.
Status check_program(Program& program);

}  // namespace minfer::sampling
