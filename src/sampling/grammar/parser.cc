#include "sampling/grammar/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/printable.h"
#include "sampling/grammar/scanner.h"

namespace minfer::sampling {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 24;
constexpr std::size_t kMaxDepth = 100'000;

/// A stretch of code with one way in and one way out: the `next` of instruction `exit`, still open.
struct Fragment {
  Pc entry = 0;
  Pc exit = 0;
};

/// A part of a sequence whose repetitions are not in the code yet, since more may follow.
struct Item {
  Fragment body;
  std::uint64_t min = 1;
  std::uint64_t max = 1;
};

/// A rule's alternatives, or those of a group, while they are read.
struct Level {
  Place place;                         // of the (
  std::vector<Fragment> alternatives;  // those that are read
  std::optional<Fragment> sequence;    // what is finished of the one being read
  std::optional<Item> last;            // its last part
};

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a >= Loop::kUnbounded / b ? Loop::kUnbounded : a * b;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Result<Program> parse() {
    emit(Op::kAccept, 0);
    in_.skip_blanks();
    if (in_.at_end()) return grammar_error(in_.place(), "", "the grammar is empty");
    while (!in_.at_end()) {
      MINFER_RETURN_IF_ERROR(parse_rule());
    }
    return std::move(program_);
  }

 private:
  Pc emit(Op op, std::uint32_t arg) {
    program_.code.push_back({op, arg, 0});
    program_.call_places.push_back(item_place_);
    program_.rule_of.push_back(rule_);
    return static_cast<Pc>(program_.code.size() - 1);
  }

  [[nodiscard]] Fragment single(Pc pc) const { return {pc, pc}; }

  std::uint32_t rule_index(std::string_view name, Place place) {
    const auto [at, is_new] =
        rules_.try_emplace(std::string(name), static_cast<std::uint32_t>(program_.rules.size()));
    if (is_new) program_.rules.push_back({std::string(name), 0, false, place});
    return at->second;
  }

  Status error(Place place, std::string_view what) const {
    return grammar_error(place, rule_name_, what);
  }

  Status parse_rule() {
    const Place place = in_.place();
    rule_name_.clear();
    const std::string name(in_.take_name());
    if (name.empty() || !in_.defines_ahead()) {
      return grammar_error(place, name, "a rule begins with its name and ::=");
    }
    in_.skip_blanks();
    in_.take_if("::=");
    rule_name_ = name;
    rule_ = rule_index(name, place);
    if (program_.rules[rule_].defined) return error(place, "the rule is defined twice");
    program_.rules[rule_].defined = true;
    program_.rules[rule_].place = place;
    levels_.clear();
    levels_.push_back({place, {}, {}, {}});
    MINFER_RETURN_IF_ERROR(parse_body());
    const Fragment body = repeated(close_level());
    program_.code[body.exit].next = emit(Op::kReturn, 0);
    program_.rules[rule_].entry = body.entry;
    return ok_status();
  }

  /// Reads up to the next rule or the end, groups by a stack of levels.
  Status parse_body() {
    bool line_start = in_.skip_blanks();
    while (!in_.at_end()) {
      item_place_ = in_.place();
      bool rule_ends = false;
      MINFER_RETURN_IF_ERROR(parse_part(line_start, rule_ends));
      if (rule_ends) break;
      line_start = in_.skip_blanks();
    }
    if (levels_.size() > 1) return error(levels_.back().place, "the ( has no closing )");
    return ok_status();
  }

  Status parse_part(bool line_start, bool& rule_ends) {
    switch (in_.peek()) {
      case '"':
        return parse_string();
      case '[': {
        MINFER_ASSIGN_OR_RETURN(CharClass set, in_.take_class(rule_name_));
        add({character(std::move(set))});
        return ok_status();
      }
      case '.':
        in_.take();
        add({character(CharClass({}, true))});
        return ok_status();
      case '<':
      case '!':
        return parse_token();
      case '(':
        if (levels_.size() > kMaxDepth) {
          return error(in_.place(), fmt::format("groups are nested deeper than {}", kMaxDepth));
        }
        in_.take();
        levels_.push_back({item_place_, {}, {}, {}});
        return ok_status();
      case ')': {
        if (levels_.size() == 1) return error(item_place_, "this ) closes nothing");
        in_.take();
        const Item group = close_level();
        levels_.pop_back();
        add(group);
        return ok_status();
      }
      case '|':
        in_.take();
        finish_sequence();
        return ok_status();
      case '*':
      case '+':
      case '?':
      case '{':
        return parse_repetition();
      default:
        return parse_name(line_start, rule_ends);
    }
  }

  Status parse_name(bool line_start, bool& rule_ends) {
    const Scanner before = in_;
    const std::string name(in_.take_name());
    if (name.empty()) {
      std::string shown;
      const char32_t code = in_.take();
      return error(item_place_,
                   code > 0x20 && code < 0x7F
                       ? fmt::format("'{}' is unexpected", static_cast<char>(code))
                       : fmt::format("U+{:04X} is unexpected", static_cast<std::uint32_t>(code)));
    }
    if (in_.defines_ahead()) {
      if (!line_start) return error(item_place_, "a rule begins on a line of its own");
      in_ = before;
      rule_ends = true;
      return ok_status();
    }
    add({single(emit(Op::kCall, rule_index(name, item_place_)))});
    return ok_status();
  }

  Status parse_string() {
    in_.take();
    std::optional<Fragment> whole;
    while (in_.at_end() || in_.peek() != '"') {
      MINFER_ASSIGN_OR_RETURN(const char32_t code, in_.take_literal('"', rule_name_));
      append(whole, character(CharClass({{code, code}}, false)));
    }
    in_.take();
    add({whole ? *whole : single(emit(Op::kJump, 0))});
    return ok_status();
  }

  /// `<name>`, `<[id]>`, `!<name>`, `!<[id]>`.
  Status parse_token() {
    TokenReference reference;
    reference.place = item_place_;
    reference.rule = rule_;
    reference.negated = in_.take_if("!");
    if (!in_.take_if("<")) return error(item_place_, "! stands only before a <token>");
    MINFER_ASSIGN_OR_RETURN(const std::string_view inner, in_.take_until('>', rule_name_));
    if (inner.starts_with('[')) {
      const char* end = inner.data() + inner.size() - 1;
      std::int32_t id = -1;
      const auto read = std::from_chars(inner.data() + 1, end, id);
      if (!inner.ends_with(']') || read.ec != std::errc() || read.ptr != end || id < 0) {
        return error(item_place_, "a token is written as <name> or as <[id]>, on one line");
      }
      reference.id = id;
    } else {
      reference.text = fmt::format("<{}>", inner);
    }
    program_.tokens.push_back(std::move(reference));
    add({single(emit(Op::kToken, static_cast<std::uint32_t>(program_.tokens.size() - 1)))});
    return ok_status();
  }

  Status parse_repetition() {
    std::optional<Item>& last = levels_.back().last;
    if (!last) return error(item_place_, "there is nothing to repeat before this");
    std::uint64_t min = 0;
    std::uint64_t max = Loop::kUnbounded;
    if (in_.take_if("?")) {
      max = 1;
    } else if (in_.take_if("+")) {
      min = 1;
    } else if (!in_.take_if("*")) {
      MINFER_RETURN_IF_ERROR(parse_counts(min, max));
    }
    repeat(*last, min, max);
    return ok_status();
  }

  Status parse_counts(std::uint64_t& min, std::uint64_t& max) {
    in_.take();
    in_.skip_blanks();
    const bool from_zero = in_.peek() == ',';
    if (!from_zero) {
      MINFER_ASSIGN_OR_RETURN(min, in_.take_count(rule_name_));
      in_.skip_blanks();
      max = min;
    }
    if (in_.take_if(",")) {
      in_.skip_blanks();
      max = Loop::kUnbounded;
      if (from_zero || in_.peek() != '}') {
        MINFER_ASSIGN_OR_RETURN(max, in_.take_count(rule_name_));
        in_.skip_blanks();
      }
    }
    if (!in_.take_if("}")) return error(item_place_, "the { has no closing }");
    if (max < min) return error(item_place_, "the largest count is below the smallest");
    return ok_status();
  }

  /// The item min..max times. Counts of counts are one count where the numbers that they allow have
  /// no gaps, so that ((a{0,9}){0,9}){0,9} is one counter.
  void repeat(Item& item, std::uint64_t min, std::uint64_t max) {
    if (max == 0) {
      item.min = item.max = 0;
    } else if (item.min <= 1) {
      item.min = item.min == 0 ? 0 : min;
      item.max = product(item.max, max);
    } else if (item.min == item.max && min == max && product(item.min, min) < Loop::kUnbounded) {
      item.min = item.max = item.min * min;
    } else {
      item = {repeated(item), min, max};
    }
  }

  /// Equal classes are one, so that alternatives that begin alike are seen to.
  Fragment character(CharClass set) {
    std::u32string key;
    for (const CharClass::Range& range : set.ranges()) key.append({range.first, range.last});
    const auto [at, is_new] =
        classes_.try_emplace(std::move(key), static_cast<std::uint32_t>(program_.classes.size()));
    if (is_new) program_.classes.push_back(std::move(set));
    return single(emit(Op::kChar, at->second));
  }

  void append(std::optional<Fragment>& to, Fragment fragment) {
    if (to) {
      program_.code[to->exit].next = fragment.entry;
      to->exit = fragment.exit;
    } else {
      to = fragment;
    }
  }

  /// `item` is the newest part of the sequence; the one before it can't be repeated any more.
  void add(Item item) {
    Level& level = levels_.back();
    if (level.last) append(level.sequence, repeated(*level.last));
    level.last = item;
  }

  void finish_sequence() {
    Level& level = levels_.back();
    if (level.last) append(level.sequence, repeated(*level.last));
    level.alternatives.push_back(level.sequence ? *level.sequence : single(emit(Op::kJump, 0)));
    level.sequence.reset();
    level.last.reset();
  }

  /// The level as one item; a group of one item is that item.
  Item close_level() {
    Level& level = levels_.back();
    if (level.alternatives.empty() && !level.sequence && level.last) return *level.last;
    finish_sequence();
    if (level.alternatives.size() == 1) return {level.alternatives.front()};
    const Pc join = emit(Op::kJump, 0);
    std::vector<Pc> entries;
    for (const Fragment& fragment : level.alternatives) {
      program_.code[fragment.exit].next = join;
      entries.push_back(fragment.entry);
    }
    return {{split(entries), join}};
  }

  Pc split(const std::vector<Pc>& entries) {
    const auto first = static_cast<std::uint32_t>(program_.targets.size());
    program_.targets.insert(program_.targets.end(), entries.begin(), entries.end());
    const Pc pc = emit(Op::kSplit, first);
    program_.code[pc].next = static_cast<Pc>(entries.size());
    return pc;
  }

  /// The item's code, with its repetitions.
  Fragment repeated(const Item& item) {
    const Fragment body = item.body;
    if (item.min == 1 && item.max == 1) return body;
    const Pc exit = emit(Op::kJump, 0);
    if (item.max == 0) return single(exit);
    if (item.min <= 1 && item.max == Loop::kUnbounded) {
      const Pc again = split({body.entry, exit});
      program_.code[body.exit].next = again;
      return {item.min == 0 ? again : body.entry, exit};
    }
    if (item.min == 0 && item.max == 1) {
      program_.code[body.exit].next = exit;
      return {split({body.entry, exit}), exit};
    }
    const auto index = static_cast<std::uint32_t>(program_.loops.size());
    program_.loops.push_back({item.min, item.max, body.entry, exit});
    program_.code[body.exit].next = emit(Op::kLoopEnd, index);
    return {emit(Op::kLoop, index), exit};
  }

  Scanner in_;
  Program program_;
  std::unordered_map<std::string, std::uint32_t> rules_;
  std::unordered_map<std::u32string, std::uint32_t> classes_;
  std::string rule_name_;
  std::uint32_t rule_ = 0;
  Place item_place_;
  std::vector<Level> levels_;
};

}  // namespace

Result<Program> parse_grammar(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return invalid_argument(
        fmt::format("the grammar has {} bytes: {} are the limit", text.size(), kMaxTextBytes));
  }
  MINFER_RETURN_IF_ERROR(Scanner::check_utf8(text));
  return Parser(text).parse();
}

}  // namespace minfer::sampling
