#include "sampling/json_schema/rule_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace minfer::sampling::schema {
namespace {

void append_class_character(std::string& out, char32_t code) {
  if (code == '\\' || code == ']' || code == '[' || code == '^' || code == '-') {
    out += '\\';
    out += static_cast<char>(code);
  } else if (code >= 0x20 && code < 0x7F) {
    out += static_cast<char>(code);
  } else {
    const auto value = static_cast<std::uint32_t>(code);
    out += code <= 0xFFFF ? fmt::format("\\u{:04X}", value) : fmt::format("\\U{:08X}", value);
  }
}

std::string repetition(const Symbol& symbol) {
  if (symbol.min == 1 && symbol.max == 1) return "";
  if (symbol.min == 0 && !symbol.max) return "*";
  if (symbol.min == 1 && !symbol.max) return "+";
  if (symbol.min == 0 && symbol.max == 1) return "?";
  if (!symbol.max) return fmt::format("{{{},}}", symbol.min);
  if (*symbol.max == symbol.min) return fmt::format("{{{}}}", symbol.min);
  return fmt::format("{{{},{}}}", symbol.min, *symbol.max);
}

}  // namespace

Symbol literal_symbol(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  Symbol symbol;
  symbol.text = out + "\"";
  return symbol;
}

Symbol class_symbol(const CharSet& set) {
  std::string out = "[";
  for (const auto& [first, last] : set.ranges()) {
    append_class_character(out, first);
    if (last > first + 1) out += '-';
    if (last > first) append_class_character(out, last);
  }
  Symbol symbol;
  symbol.text = out + "]";
  return symbol;
}

Symbol rule_symbol(RuleId rule) {
  Symbol symbol;
  symbol.rule = rule;
  return symbol;
}

Symbol repeated(Symbol symbol, std::uint64_t min, std::optional<std::uint64_t> max) {
  symbol.min = min;
  symbol.max = max;
  return symbol;
}

RuleId RuleSet::add(std::string_view hint) {
  rules_.push_back({std::string(hint), {}});
  return static_cast<RuleId>(rules_.size() - 1);
}

void RuleSet::add_alternative(RuleId rule, Sequence sequence) {
  rules_[rule].alternatives.push_back(std::move(sequence));
}

bool RuleSet::prune() {
  // An alternative waits for the rules in it that are not known to end.
  struct Waiting {
    RuleId rule;
    std::size_t count = 0;
  };
  std::vector<Waiting> waiting;
  std::vector<std::vector<std::size_t>> waits_for(rules_.size());
  std::vector<char> ends(rules_.size(), 0);
  std::vector<RuleId> todo;
  const auto found = [&](RuleId rule) {
    if (ends[rule]) return;
    ends[rule] = 1;
    todo.push_back(rule);
  };
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    for (const Sequence& sequence : rules_[rule].alternatives) {
      waiting.push_back({rule, 0});
      for (const Symbol& symbol : sequence) {
        if (!symbol.rule || symbol.min == 0) continue;
        waits_for[*symbol.rule].push_back(waiting.size() - 1);
        ++waiting.back().count;
      }
      if (waiting.back().count == 0) found(rule);
    }
  }
  while (!todo.empty()) {
    const RuleId rule = todo.back();
    todo.pop_back();
    for (const std::size_t index : waits_for[rule]) {
      if (--waiting[index].count == 0) found(waiting[index].rule);
    }
  }
  for (Rule& rule : rules_) {
    for (Sequence& sequence : rule.alternatives) {
      std::erase_if(sequence, [&](const Symbol& symbol) {
        return symbol.rule && symbol.min == 0 && !ends[*symbol.rule];
      });
    }
    std::erase_if(rule.alternatives, [&](const Sequence& sequence) {
      return std::any_of(sequence.begin(), sequence.end(),
                         [&](const Symbol& symbol) { return symbol.rule && !ends[*symbol.rule]; });
    });
  }
  return !rules_.empty() && ends[0];
}

std::string RuleSet::text(std::string_view root, std::string_view prefix) const {
  std::vector<RuleId> order{0};
  std::vector<std::size_t> numbers(rules_.size(), 0);
  numbers[0] = 1;
  std::string out;
  const auto name = [&](RuleId rule) {
    if (rule == 0) return std::string(root);
    return fmt::format("{}{}{}", prefix, rules_[rule].hint, numbers[rule] - 1);
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    out += name(order[i]) + " ::=";
    bool first = true;
    for (const Sequence& sequence : rules_[order[i]].alternatives) {
      out += first ? " " : " | ";
      first = false;
      if (sequence.empty()) out += "\"\"";
      for (std::size_t s = 0; s < sequence.size(); ++s) {
        const Symbol& symbol = sequence[s];
        if (symbol.rule && numbers[*symbol.rule] == 0) {
          order.push_back(*symbol.rule);
          numbers[*symbol.rule] = order.size();
        }
        if (s > 0) out += ' ';
        out += (symbol.rule ? name(*symbol.rule) : symbol.text) + repetition(symbol);
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace minfer::sampling::schema
