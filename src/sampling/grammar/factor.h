// Common prefixes of alternatives, read once: `"ab" x | "ab" y | "ac"` runs as `"a" ("b" (x | y) |
// "c")`. The texts stay the same; the matcher carries one stack where it would carry one for every
// alternative, at each level of a recursion again.
//
// Thread-safety: pure functions.
#pragma once

#include "sampling/grammar/program.h"

namespace minfer::sampling {

/// Rewrites the splits of a checked program in place. Time and memory are linear in the code.
void factor_prefixes(Program& program);

}  // namespace minfer::sampling
