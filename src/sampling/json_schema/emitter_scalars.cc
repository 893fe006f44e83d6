// Numbers and strings as rules.
#include <fmt/format.h>

#include <set>

#include "base/utf8.h"
#include "sampling/json_schema/emitter.h"
#include "sampling/json_schema/numbers.h"

namespace minfer::sampling::schema {
namespace {

const CharSet kQuoted{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};

// How a JSON string spells a character, in the one way in which it is written.
std::string spelt(char32_t code) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (code < 0x20) return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
  std::string out;
  append_utf8(out, code);
  return out;
}

std::uint64_t length_of(std::string_view text) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) i += decode_char(text, i).length;
  return n;
}

// Every text that does not hold `mark`: the states are how much of it has been read.
Dfa without(std::string_view mark) {
  std::u32string chars;
  for (std::size_t i = 0; i < mark.size();) {
    const Char c = decode_char(mark, i);
    chars += c.code;
    i += c.length;
  }
  Dfa out;
  for (std::size_t n = 0; n < chars.size(); ++n) {
    Dfa::State state{{}, true};
    CharSet seen;
    // After n characters and one of the mark's, the longest beginning of the mark that ends there.
    for (const char32_t code : std::set<char32_t>(chars.begin(), chars.end())) {
      seen.add(code, code);
      std::size_t next = n + 1;
      const std::u32string read = chars.substr(0, n) + code;
      while (next > 0 && read.substr(read.size() - next) != chars.substr(0, next)) --next;
      if (next < chars.size() && next > 0)
        state.edges.push_back({CharSet::of(code), static_cast<std::uint32_t>(next)});
      if (next == 0) state.edges.push_back({CharSet::of(code), 0});
    }
    state.edges.push_back({seen.complement(), 0});
    out.states.push_back(std::move(state));
  }
  return trim(out);
}

// The largest count that a grammar repeats by; longer texts are none that anybody writes.
constexpr std::uint64_t kMaxRepeat = 1'000'000;

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode_char(text, i);
    i += c.length;
    out += spelt(c.code);
  }
  return out + "\"";
}

std::vector<std::string> Emitter::words_of(const Shape& shape) {
  std::vector<std::string> out;
  for (const std::string& word : *shape.words) {
    if (shape.language != nullptr && !shape.language->accepts(word)) continue;
    const std::uint64_t n = shape.type == Type::kString ? length_of(word) : 0;
    if (n < shape.min_length || (shape.max_length && n > *shape.max_length)) continue;
    out.push_back(word);
  }
  return out;
}

void Emitter::emit_number(const Shape& shape, RuleId rule) {
  if (shape.words) {
    for (const std::string& word : words_of(shape))
      rules_.add_alternative(rule, {literal_symbol(word)});
    return;
  }
  const Dfa written = written_numbers(!shape.integer);
  const std::optional<Dfa> spellings =
      shape.language != nullptr ? intersect(*shape.language, written) : written;
  if (!spellings) return too_complex();
  if (!spellings->empty())
    rules_.add_alternative(rule, {rule_symbol(language_rule(*spellings, Spelling::kPlain))});
}

void Emitter::emit_string(const Shape& shape, RuleId rule) {
  if (shape.words) {
    for (const std::string& word : words_of(shape))
      rules_.add_alternative(rule, {literal_symbol(json_string(word))});
    return;
  }
  if (shape.max_length && *shape.max_length < shape.min_length) return;
  if (shape.language != nullptr) {
    if (const std::optional<Dfa> language = string_language(shape); language)
      rules_.add_alternative(rule, {rule_symbol(string_rule(*language))});
    return;
  }
  if (shape.min_length > kMaxRepeat) return too_complex();
  std::optional<std::uint64_t> max = shape.max_length;
  if (max && *max > kMaxRepeat) max.reset();
  if (shape.max_length && !max) return too_complex();
  rules_.add_alternative(
      rule, {literal_symbol("\""), repeated(rule_symbol(any_character()), shape.min_length, max),
             literal_symbol("\"")});
}

std::optional<Dfa> Emitter::string_language(const Shape& shape) {
  if (shape.words) return Dfa::of_words(words_of(shape));
  Dfa language = shape.language != nullptr ? *shape.language : Dfa::anything();
  if (shape.min_length == 0 && !shape.max_length) return language;
  const std::optional<Dfa> lengths = Dfa::of_length(shape.min_length, shape.max_length);
  std::optional<Dfa> out = lengths ? intersect(language, *lengths) : std::nullopt;
  if (!out) too_complex();
  return out;
}

Result<RuleSet> Emitter::run_bare_text(std::string_view end) {
  Goal goal;
  add_to(goal, {&document_.root(), false});
  const RuleId root = rules_.add("value");
  MINFER_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, expander_.expand(goal, Type::kString));
  for (const Shape& shape : shapes) {
    std::optional<Dfa> language = string_language(shape);
    if (language && !end.empty()) language = intersect(*language, without(end));
    if (!language) too_complex();
    if (language && !language->empty())
      rules_.add_alternative(root, {rule_symbol(language_rule(*language, Spelling::kPlain))});
  }
  if (!status_.ok()) return status_;
  if (!rules_.prune()) return invalid_argument("JSON schema, #: no text fits the schema");
  return std::move(rules_);
}

RuleId Emitter::string_rule(const Dfa& dfa) {
  const RuleId rule = rules_.add("string");
  rules_.add_alternative(rule,
                         {literal_symbol("\""), rule_symbol(language_rule(dfa, Spelling::kString)),
                          literal_symbol("\"")});
  return rule;
}

RuleId Emitter::any_character() {
  if (any_character_) return *any_character_;
  const RuleId rule = rules_.add("char");
  any_character_ = rule;
  rules_.add_alternative(rule, {class_symbol(kQuoted.complement())});
  rules_.add_alternative(rule, {literal_symbol("\\"), class_symbol({{'"', '"'},
                                                                    {'\\', '\\'},
                                                                    {'b', 'b'},
                                                                    {'f', 'f'},
                                                                    {'n', 'n'},
                                                                    {'r', 'r'},
                                                                    {'t', 't'}})});
  rules_.add_alternative(
      rule, {literal_symbol("\\u000"), class_symbol({{'0', '7'}, {'b', 'b'}, {'e', 'f'}})});
  rules_.add_alternative(rule, {literal_symbol("\\u001"), class_symbol({{'0', '9'}, {'a', 'f'}})});
  return rule;
}

Symbol Emitter::character(const CharSet& set, Spelling spelling) {
  if (spelling == Spelling::kPlain) return class_symbol(set);
  if (set == CharSet::all()) return rule_symbol(any_character());
  const CharSet plain = set.intersect(kQuoted.complement());
  const CharSet quoted = set.intersect(kQuoted);
  if (quoted.empty()) return class_symbol(plain);
  std::string text = plain.empty() ? "" : class_symbol(plain).text;
  for (const auto& [first, last] : quoted.ranges()) {
    for (char32_t code = first; code <= last; ++code)
      text += (text.empty() ? "" : " | ") + literal_symbol(spelt(code)).text;
  }
  Symbol symbol;
  symbol.text = "(" + text + ")";
  return symbol;
}

RuleId Emitter::language_rule(const Dfa& dfa, Spelling spelling) {
  // A state is a rule: what may still follow. States with one way in and one way out are written
  // where they are used, and an edge from a state to itself is a repetition.
  std::string key = spelling == Spelling::kString ? "s" : "n";
  std::vector<std::size_t> ways_in(dfa.states.size(), 0);
  for (const Dfa::State& state : dfa.states) {
    key += state.accepts ? "!" : ".";
    for (const Dfa::Edge& edge : state.edges) {
      ++ways_in[edge.to];
      key += class_symbol(edge.on).text + fmt::format("{}", edge.to);
    }
  }
  if (const auto known = languages_.find(key); known != languages_.end()) return known->second;

  std::vector<std::optional<RuleId>> rules(dfa.states.size());
  std::vector<std::uint32_t> todo;
  const auto rule_of = [&](std::uint32_t state) {
    if (!rules[state]) {
      rules[state] = rules_.add(spelling == Spelling::kString ? "text" : "number");
      todo.push_back(state);
    }
    return *rules[state];
  };
  const auto is_link = [&](std::uint32_t state) {
    const Dfa::State& s = dfa.states[state];
    return !s.accepts && s.edges.size() == 1 && ways_in[state] == 1 && s.edges[0].to != state &&
           state != 0;
  };
  // The characters of an edge, of the links behind it, and the rule of where they lead.
  const auto follow = [&](const Dfa::Edge& first, Sequence sequence) {
    const Dfa::Edge* edge = &first;
    std::string text;
    const auto flush = [&] {
      if (!text.empty()) sequence.push_back(literal_symbol(text));
      text.clear();
    };
    while (true) {
      const auto& ranges = edge->on.ranges();
      if (ranges.size() == 1 && ranges[0].first == ranges[0].second) {
        if (spelling == Spelling::kString) {
          text += spelt(ranges[0].first);
        } else {
          append_utf8(text, ranges[0].first);
        }
      } else {
        flush();
        sequence.push_back(character(edge->on, spelling));
      }
      if (!is_link(edge->to)) break;
      edge = &dfa.states[edge->to].edges[0];
    }
    flush();
    const Dfa::State& last = dfa.states[edge->to];
    if (!last.edges.empty()) sequence.push_back(rule_symbol(rule_of(edge->to)));
    return sequence;
  };
  const RuleId start = rule_of(0);
  while (!todo.empty()) {
    const std::uint32_t state = todo.back();
    todo.pop_back();
    RuleId rule = *rules[state];
    const Dfa::State& s = dfa.states[state];
    for (const Dfa::Edge& edge : s.edges) {
      if (edge.to != state) continue;
      Symbol loop = repeated(character(edge.on, spelling), 0, std::nullopt);
      if (s.edges.size() == 1) {
        rules_.add_alternative(rule, {std::move(loop)});
        break;
      }
      const RuleId tail = rules_.add("tail");
      rules_.add_alternative(rule, {std::move(loop), rule_symbol(tail)});
      rule = tail;
    }
    if (s.accepts && (s.edges.size() != 1 || s.edges[0].to != state))
      rules_.add_alternative(rule, {});
    for (const Dfa::Edge& edge : s.edges) {
      if (edge.to != state) rules_.add_alternative(rule, follow(edge, {}));
    }
  }
  languages_.emplace(std::move(key), start);
  return start;
}

}  // namespace minfer::sampling::schema
