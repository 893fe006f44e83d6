// ECMA-262 regular expressions (as with the flag u: characters are code points) as automata.
//
// Known: alternation, groups (captures mean nothing here), greedy and lazy quantifiers, classes,
// `.`, \d \D \w \W \s \S, ^ and $, the escapes for characters. Refused by name: look-around,
// back-references, \b and \B, \p and \P, inline flags.
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "sampling/json_schema/dfa.h"

namespace minfer::sampling::schema {

/// The strings in which `pattern` finds a match (it is not anchored, ECMA-262 section 22.2).
/// kInvalidArgument for what is no regular expression, kUnsupported, naming the construct, for what
/// is not regular or not known, and for one that takes too many states or more steps than `budget`,
/// from which those that it takes are subtracted.
Result<Dfa> regex_to_dfa(std::string_view pattern, std::size_t& budget);

/// Enough for the patterns of one document.
inline constexpr std::size_t kPatternBudget = 10'000'000;

}  // namespace minfer::sampling::schema
