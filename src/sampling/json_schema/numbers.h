// Sets of numbers as automata over their spelling.
//
// Invariants: the spellings are -?(0|[1-9][0-9]*)(\.[0-9]+)? without minus zero; all spellings of a
// number (1, 1.0, 1.00) are in a set or none is. Thread-safety: pure functions.
#pragma once

#include <optional>

#include "sampling/json_schema/decimal.h"
#include "sampling/json_schema/dfa.h"

namespace minfer::sampling::schema {

Dfa all_numbers();
/// Whole numbers, 1.0 included.
Dfa whole_numbers();
/// The spellings that are written: up to kMaxWrittenDigits digits without a point, and where
/// `with_point`, up to kMaxExactDigits with one, which any reader's doubles tell apart.
Dfa written_numbers(bool with_point);
inline constexpr std::size_t kMaxWrittenDigits = 64;
inline constexpr std::size_t kMaxExactDigits = 15;

struct Comparison {
  bool less = false;
  bool equal = false;
  bool greater = false;
};
/// The numbers that compare with `bound` in one of the ways asked for.
Dfa compared(const Decimal& bound, Comparison how);

/// The multiples of `step` > 0. Nothing where that takes too many states.
std::optional<Dfa> multiples(const Decimal& step);

}  // namespace minfer::sampling::schema
