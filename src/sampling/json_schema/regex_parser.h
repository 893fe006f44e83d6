// The syntax tree of an ECMA-262 regular expression.
//
// Invariants: trees are at most kMaxRegexDepth deep. Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sampling/json_schema/char_set.h"

namespace minfer::sampling::schema {

inline constexpr int kMaxRegexDepth = 200;

struct RegexNode {
  enum class Kind { kChars, kSequence, kChoice, kRepeat, kStart, kEnd };
  Kind kind = Kind::kSequence;
  CharSet chars;                     // kChars
  std::vector<RegexNode> children;   // kSequence, kChoice; kRepeat has one
  std::uint32_t min = 0;             // kRepeat
  std::optional<std::uint32_t> max;  // kRepeat; none: without end
};

/// See regex_to_dfa for what is known and which errors there are.
Result<RegexNode> parse_regex(std::string_view pattern);

}  // namespace minfer::sampling::schema
