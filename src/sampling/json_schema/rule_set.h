// RuleSet: the rules of a grammar while it is being made, and their GBNF text.
//
// Invariants: rule 0 is the root. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sampling/json_schema/char_set.h"

namespace minfer::sampling::schema {

using RuleId = std::uint32_t;

/// GBNF text that reads something whatever follows, or a rule; `min` to `max` times.
struct Symbol {
  std::string text;
  std::optional<RuleId> rule;
  std::uint64_t min = 1;
  std::optional<std::uint64_t> max = 1;
};
using Sequence = std::vector<Symbol>;

/// Exactly these bytes.
Symbol literal_symbol(std::string_view bytes);
/// One character of a set that is not empty.
Symbol class_symbol(const CharSet& set);
Symbol rule_symbol(RuleId rule);
Symbol repeated(Symbol symbol, std::uint64_t min, std::optional<std::uint64_t> max);

class RuleSet {
 public:
  /// A rule without alternatives; `hint` says what it is for.
  RuleId add(std::string_view hint);
  void add_alternative(RuleId rule, Sequence sequence);
  [[nodiscard]] std::size_t size() const { return rules_.size(); }
  [[nodiscard]] bool has_alternatives(RuleId rule) const {
    return !rules_[rule].alternatives.empty();
  }

  /// Leaves out what no finite text fits. False where that is the root.
  bool prune();
  /// The rules that the root reaches. The root is named `root`, the others `prefix`, their hint and
  /// a number.
  [[nodiscard]] std::string text(std::string_view root, std::string_view prefix) const;

 private:
  struct Rule {
    std::string hint;
    std::vector<Sequence> alternatives;
  };
  std::vector<Rule> rules_;
};

}  // namespace minfer::sampling::schema
