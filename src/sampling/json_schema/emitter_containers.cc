// Arrays and objects as rules.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "sampling/json_schema/emitter.h"

namespace minfer::sampling::schema {
namespace {

constexpr std::uint64_t kMaxRepeat = 1'000'000;
constexpr std::size_t kMaxCounted = 3;         // "contains" at once
constexpr std::size_t kMaxArrayStates = 5000;  // of an array with "contains"
constexpr std::size_t kMaxUnique = 8;          // different items of an array with "uniqueItems"
constexpr std::size_t kMaxObjectStates = 20'000;
constexpr std::size_t kMaxExtras = 64;

bool none_fits(const Goal& goal) { return std::any_of(goal.begin(), goal.end(), fits_nothing); }

Symbol separator(bool first) { return literal_symbol(first ? "" : ", "); }

std::optional<std::uint64_t> less(std::optional<std::uint64_t> max, std::uint64_t n) {
  if (!max) return std::nullopt;
  return *max - std::min(*max, n);
}

}  // namespace

void Emitter::emit_array(const Shape& shape, RuleId rule) {
  if (shape.max_count && *shape.max_count < shape.min_count) return;
  if (shape.min_count > kMaxRepeat || (shape.max_count && *shape.max_count > kMaxRepeat))
    return too_complex();
  const bool unique = shape.unique != nullptr && (!shape.max_count || *shape.max_count > 1);
  if (unique) {
    emit_unique_array(shape, rule);
  } else if (!shape.counted.empty()) {
    emit_counted_array(shape, rule);
  } else {
    emit_plain_array(shape, rule);
  }
}

void Emitter::emit_plain_array(const Shape& shape, RuleId rule) {
  const std::uint64_t min = shape.min_count;
  const std::optional<std::uint64_t> max = shape.max_count;
  std::size_t n_prefix = prefix_length(shape);
  if (max) n_prefix = std::min<std::uint64_t>(n_prefix, *max);
  Sequence sequence{literal_symbol("[")};
  for (std::size_t i = 0; i < n_prefix; ++i) {
    if (i >= min) {
      // The array may end here.
      const RuleId rest = rules_.add("items");
      sequence.push_back(rule_symbol(rest));
      rules_.add_alternative(rule, std::move(sequence));
      rule = rest;
      rules_.add_alternative(rule, {literal_symbol("]")});
      sequence.clear();
    }
    if (i > 0) sequence.push_back(separator(false));
    sequence.push_back(rule_symbol(value(item_goal(shape, i))));
  }
  if (!max || *max > n_prefix) {
    const RuleId item = value(item_goal(shape, n_prefix));
    const RuleId next = rules_.add("next");
    rules_.add_alternative(next, {separator(false), rule_symbol(item)});
    const std::uint64_t more = min - std::min<std::uint64_t>(min, n_prefix);
    if (n_prefix > 0) {
      sequence.push_back(repeated(rule_symbol(next), more, less(max, n_prefix)));
    } else {
      if (more == 0) {
        Sequence empty = sequence;
        empty.push_back(literal_symbol("]"));
        rules_.add_alternative(rule, std::move(empty));
      }
      sequence.push_back(rule_symbol(item));
      sequence.push_back(
          repeated(rule_symbol(next), more - std::min<std::uint64_t>(more, 1), less(max, 1)));
    }
  }
  sequence.push_back(literal_symbol("]"));
  rules_.add_alternative(rule, std::move(sequence));
}

void Emitter::emit_counted_array(const Shape& shape, RuleId rule) {
  const std::size_t n = shape.counted.size();
  if (n > kMaxCounted) return too_complex();
  // A state is how many items there are and how many of them count for each, as far as it matters.
  using State = std::array<std::uint64_t, kMaxCounted + 1>;
  State cap{};
  cap[0] = std::max<std::uint64_t>(prefix_length(shape), shape.min_count);
  if (shape.max_count) cap[0] = *shape.max_count;
  for (std::size_t j = 0; j < n; ++j) {
    cap[0] = std::max<std::uint64_t>(cap[0], shape.counted[j].from);
    cap[j + 1] = shape.counted[j].max.value_or(shape.counted[j].min);
  }
  cap[0] = std::max<std::uint64_t>(cap[0], 1);
  std::map<State, RuleId> states;
  std::vector<State> todo;
  const auto rule_of = [&](const State& state) {
    const auto [place, fresh] = states.emplace(state, 0);
    if (fresh) {
      place->second = rules_.add("items");
      todo.push_back(state);
    }
    return place->second;
  };
  rules_.add_alternative(rule, {literal_symbol("["), rule_symbol(rule_of({}))});
  while (!todo.empty()) {
    if (states.size() > kMaxArrayStates) return too_complex();
    const State state = todo.back();
    todo.pop_back();
    const RuleId here = states[state];
    bool may_end = state[0] >= shape.min_count;
    for (std::size_t j = 0; j < n; ++j) may_end = may_end && state[j + 1] >= shape.counted[j].min;
    if (may_end) rules_.add_alternative(here, {literal_symbol("]")});
    if (shape.max_count && state[0] == *shape.max_count) continue;
    for (std::size_t ways = 0; ways < (std::size_t{1} << n); ++ways) {
      Goal goal = item_goal(shape, state[0]);
      State next = state;
      next[0] = std::min(state[0] + 1, cap[0]);
      bool possible = true;
      for (std::size_t j = 0; j < n; ++j) {
        const CountedItems& counted = shape.counted[j];
        const bool counts = (ways >> j & 1) != 0;
        if (counts) {
          possible =
              possible && state[0] >= counted.from && (!counted.max || state[j + 1] < *counted.max);
          next[j + 1] = std::min(state[j + 1] + 1, cap[j + 1]);
          add_to(goal, counted.what);
        } else if (counted.max && state[0] >= counted.from) {
          add_to(goal, {counted.what.schema, !counted.what.negated});
        }
      }
      if (!possible) continue;
      rules_.add_alternative(
          here, {separator(state[0] == 0), rule_symbol(value(goal)), rule_symbol(rule_of(next))});
    }
  }
}

bool Emitter::finite_values(const Goal& goal, std::vector<std::string>& out) {
  for (int t = 0; t < kTypes; ++t) {
    const Result<std::vector<Shape>> shapes = expander_.expand(goal, static_cast<Type>(t));
    if (!shapes.ok()) return false;
    for (const Shape& shape : *shapes) {
      switch (shape.type) {
        case Type::kNull:
          out.emplace_back("null");
          break;
        case Type::kBoolean:
          if (shape.can_be[1]) out.emplace_back("true");
          if (shape.can_be[0]) out.emplace_back("false");
          break;
        case Type::kNumber:
        case Type::kString:
          if (!shape.words) return false;
          for (const std::string& word : words_of(shape))
            out.push_back(shape.type == Type::kString ? json_string(word) : word);
          break;
        case Type::kArray:
        case Type::kObject:
          return false;
      }
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return true;
}

void Emitter::emit_unique_array(const Shape& shape, RuleId rule) {
  std::vector<std::string> values;
  if (prefix_length(shape) > 0 || !shape.counted.empty() ||
      !finite_values(item_goal(shape, 0), values) || values.size() > kMaxUnique) {
    return refuse(*shape.unique, "uniqueItems",
                  fmt::format("\"uniqueItems\" is supported for items of up to {} constants alone",
                              kMaxUnique));
  }
  const std::size_t n = std::size_t{1} << values.size();
  std::vector<RuleId> used;
  for (std::size_t i = 0; i < n; ++i) used.push_back(rules_.add("items"));
  rules_.add_alternative(rule, {literal_symbol("["), rule_symbol(used[0])});
  for (std::size_t set = 0; set < n; ++set) {
    const auto count = static_cast<std::uint64_t>(std::popcount(set));
    if (count >= shape.min_count) rules_.add_alternative(used[set], {literal_symbol("]")});
    if (shape.max_count && count >= *shape.max_count) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t next = set | std::size_t{1} << i;
      if (next == set) continue;
      rules_.add_alternative(used[set], {literal_symbol((count > 0 ? ", " : "") + values[i]),
                                         rule_symbol(used[next])});
    }
  }
}

bool Emitter::key_language(const Shape& shape, Dfa& out) {
  out = Dfa::anything();
  if (shape.key_names.empty()) return true;
  Goal goal;
  for (const Literal& literal : shape.key_names) add_to(goal, literal);
  const Result<std::vector<Shape>> shapes = expander_.expand(goal, Type::kString);
  if (!shapes.ok()) {
    status_ = shapes.status();
    return false;
  }
  out = Dfa::of_words({});
  for (const Shape& names : *shapes) {
    const std::optional<Dfa> language = string_language(names);
    std::optional<Dfa> both = language ? unite(out, *language) : std::nullopt;
    if (!both) return too_complex(), false;
    out = *std::move(both);
  }
  return true;
}

std::vector<Emitter::Extra> Emitter::extras_of(const Shape& shape, const Dfa& names) {
  if (!is_open(shape)) return {};
  std::set<std::string> taken(shape.forbidden.begin(), shape.forbidden.end());
  for (const std::string& key : known_keys(shape)) taken.insert(key);
  for (const auto& [key, goal] : shape.also) taken.insert(key);
  // Cells of keys that the same patterns match.
  struct Cell {
    Dfa keys;
    std::set<const Dfa*> matched;
  };
  std::vector<Cell> cells(1);
  std::optional<Dfa> free =
      intersect(names, Dfa::of_words({taken.begin(), taken.end()}).complement());
  if (!free) return too_complex(), std::vector<Extra>();
  cells[0].keys = *std::move(free);
  std::set<const Dfa*> patterns;
  for (const ObjectRule& rule : shape.rules) {
    for (const auto& [pattern, literal] : rule.patterns) patterns.insert(pattern);
  }
  for (const Dfa* pattern : patterns) {
    std::vector<Cell> finer;
    const Dfa outside = pattern->complement();
    for (const Cell& cell : cells) {
      std::optional<Dfa> in = intersect(cell.keys, *pattern);
      std::optional<Dfa> out = intersect(cell.keys, outside);
      if (!in || !out || finer.size() > kMaxExtras) return too_complex(), std::vector<Extra>();
      std::set<const Dfa*> matched = cell.matched;
      if (!out->empty()) finer.push_back({*std::move(out), matched});
      matched.insert(pattern);
      if (!in->empty()) finer.push_back({*std::move(in), std::move(matched)});
    }
    cells = std::move(finer);
  }
  std::vector<Extra> out;
  for (Cell& cell : cells) {
    Extra extra{std::move(cell.keys), {}};
    for (const ObjectRule& rule : shape.rules) {
      bool evaluated = false;
      for (const auto& [pattern, literal] : rule.patterns) {
        if (!cell.matched.contains(pattern)) continue;
        add_to(extra.goal, literal);
        evaluated = true;
      }
      if (!evaluated && rule.additional) add_to(extra.goal, *rule.additional);
    }
    if (!extra.keys.empty() && !none_fits(extra.goal)) out.push_back(std::move(extra));
  }
  return out;
}

RuleId Emitter::extra_pair(const Shape& shape, const Dfa& names) {
  const RuleId rule = rules_.add("pair");
  for (const Extra& extra : extras_of(shape, names)) {
    rules_.add_alternative(rule, {rule_symbol(string_rule(extra.keys)), literal_symbol(": "),
                                  rule_symbol(value(extra.goal))});
  }
  return rule;
}

void Emitter::emit_object(const Shape& shape, RuleId rule) {
  const std::uint64_t min = shape.min_count;
  const std::optional<std::uint64_t> max = shape.max_count;
  Dfa names;
  if (!key_language(shape, names)) return;
  struct Key {
    std::string text;
    bool required = false;
    RuleId value = 0;
  };
  std::vector<Key> keys;
  for (const std::string& key : known_keys(shape)) {
    const bool required = shape.required.contains(key);
    if (shape.forbidden.contains(key) || !names.accepts(key)) {
      if (required) return;
      continue;
    }
    const Goal goal = value_goal(shape, key);
    if (none_fits(goal)) {
      if (required) return;
      continue;
    }
    keys.push_back({json_string(key) + ": ", required, value(goal)});
  }
  const RuleId pair = extra_pair(shape, names);
  const bool extras = rules_.has_alternatives(pair);

  // A state is which declared key comes next and how many keys there are, as far as it matters.
  const std::uint64_t cap = max ? *max : std::max<std::uint64_t>(min, 1);
  std::map<std::pair<std::size_t, std::uint64_t>, RuleId> states;
  std::vector<std::pair<std::size_t, std::uint64_t>> todo;
  const auto rule_of = [&](std::size_t index, std::uint64_t count) {
    const auto [place, fresh] = states.emplace(std::pair{index, count}, 0);
    if (fresh) {
      place->second = rules_.add("keys");
      todo.emplace_back(index, count);
    }
    return place->second;
  };
  const auto end = [&](RuleId here, Sequence sequence, std::uint64_t count) {
    const std::uint64_t missing = min - std::min(min, count);
    if (missing > 1 && extras) {
      return refuse(shape.counting != nullptr ? *shape.counting : document_.root(), "minProperties",
                    "\"minProperties\" is supported where at most one of the keys is undeclared");
    }
    const bool more = extras && (!max || count < *max);
    if (count == 0 && more) {
      if (missing == 0) rules_.add_alternative(here, sequence);
      sequence.push_back(rule_symbol(pair));
    }
    if (more) {
      const RuleId next = rules_.add("pairs");
      rules_.add_alternative(next, {separator(false), rule_symbol(pair)});
      const std::uint64_t least = count == 0 ? 0 : missing;
      std::optional<std::uint64_t> most = less(max, std::max<std::uint64_t>(count, 1));
      if (most && *most > kMaxRepeat) most = kMaxRepeat;
      sequence.push_back(repeated(rule_symbol(next), least, most));
    }
    if (more || missing == 0) rules_.add_alternative(here, std::move(sequence));
  };
  rules_.add_alternative(rule,
                         {literal_symbol("{"), rule_symbol(rule_of(0, 0)), literal_symbol("}")});
  while (!todo.empty() && status_.ok()) {
    if (states.size() > kMaxObjectStates) return too_complex();
    auto [index, count] = todo.back();
    todo.pop_back();
    const RuleId here = states[{index, count}];
    Sequence sequence;
    // Keys that must be there follow each other without a choice.
    while (true) {
      if (index == keys.size()) {
        end(here, std::move(sequence), count);
        break;
      }
      const Key& key = keys[index];
      const bool room = !max || count < *max;
      const std::uint64_t next = std::min(count + 1, cap);
      if (!key.required) {
        Sequence without = sequence;
        without.push_back(rule_symbol(rule_of(index + 1, count)));
        rules_.add_alternative(here, std::move(without));
      }
      if (!room) break;
      sequence.push_back(literal_symbol((count > 0 ? ", " : "") + key.text));
      sequence.push_back(rule_symbol(key.value));
      ++index;
      count = next;
      if (key.required) continue;
      sequence.push_back(rule_symbol(rule_of(index, count)));
      rules_.add_alternative(here, std::move(sequence));
      break;
    }
  }
}

}  // namespace minfer::sampling::schema
