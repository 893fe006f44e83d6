// Dfa: a regular language over Unicode characters as a deterministic automaton. Patterns, formats,
// lengths and enumerations of strings, and ranges and multiples of numbers are all of this kind, so
// that any combination of them (allOf, not, oneOf) stays exact.
//
// Invariants: state 0 is the start; the edges of a state are disjoint; a character without an edge
// is refused. Thread-safety: values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/json_schema/char_set.h"

namespace minfer::sampling::schema {

/// An automaton with more states is refused: the schema is too complex.
inline constexpr std::size_t kMaxStates = 20'000;

struct Dfa {
  struct Edge {
    CharSet on;
    std::uint32_t to = 0;
  };
  struct State {
    std::vector<Edge> edges;
    bool accepts = false;
  };
  std::vector<State> states;

  /// Every string.
  static Dfa anything();
  /// Exactly these strings.
  static Dfa of_words(const std::vector<std::string>& words);
  /// Strings of `min` to `max` characters. Nothing where that takes too many states.
  static std::optional<Dfa> of_length(std::uint64_t min, std::optional<std::uint64_t> max);

  [[nodiscard]] bool accepts(std::string_view text) const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] Dfa complement() const;
};

/// The strings of which `keep(in a, in b)` says so; `keep(false, false)` must be false. Nothing
/// where that takes too many states. States from which nothing is accepted are left out.
std::optional<Dfa> combine(const Dfa& a, const Dfa& b, const std::function<bool(bool, bool)>& keep);
std::optional<Dfa> intersect(const Dfa& a, const Dfa& b);
std::optional<Dfa> unite(const Dfa& a, const Dfa& b);

/// Leaves out the states that do not lie on the way to acceptance, and makes one edge of those that
/// lead to the same state.
Dfa trim(const Dfa& dfa);

}  // namespace minfer::sampling::schema
