#include "sampling/json_schema/numbers.h"

#include "sampling/json_schema/regex.h"

namespace minfer::sampling::schema {
namespace {

// The largest number by which remainders are taken.
constexpr std::uint64_t kMaxModulus = 2000;

CharSet digit(int d) { return CharSet::of(static_cast<char32_t>('0' + d)); }
CharSet digits(int first, int last) {
  CharSet out;
  if (first <= last) out.add(static_cast<char32_t>('0' + first), static_cast<char32_t>('0' + last));
  return out;
}

Dfa of_pattern(const char* pattern) {
  std::size_t budget = kPatternBudget;
  return *regex_to_dfa(pattern, budget);
}

class Builder {
 public:
  std::uint32_t state(bool accepts) {
    dfa.states.push_back({{}, accepts});
    return static_cast<std::uint32_t>(dfa.states.size() - 1);
  }
  void edge(std::uint32_t from, const CharSet& on, std::uint32_t to) {
    if (!on.empty()) dfa.states[from].edges.push_back({on, to});
  }

  Dfa dfa;
};

// How numbers without sign compare with `bound` without its sign, over any digits and at most one
// point; what is no spelling of a number is for the caller to take out.
Dfa magnitudes(const Decimal& bound, Comparison how) {
  Builder b;
  const std::string& whole = bound.digits;
  const std::string& part = bound.fraction;
  const CharSet point = CharSet::of('.');
  const CharSet any = digits(0, 9);

  // After the point, all decided.
  const std::uint32_t less_after = b.state(how.less);
  const std::uint32_t more_after = b.state(how.greater);
  b.edge(less_after, any, less_after);
  b.edge(more_after, any, more_after);
  // After the point, equal so far with j digits of the fraction read.
  std::vector<std::uint32_t> equal_after;
  for (std::size_t j = 0; j <= part.size(); ++j)
    equal_after.push_back(b.state(j < part.size() ? how.less : how.equal));
  for (std::size_t j = 0; j < part.size(); ++j) {
    const int d = part[j] - '0';
    b.edge(equal_after[j], digits(0, d - 1), less_after);
    b.edge(equal_after[j], digit(d), equal_after[j + 1]);
    b.edge(equal_after[j], digits(d + 1, 9), more_after);
  }
  b.edge(equal_after.back(), digit(0), equal_after.back());
  b.edge(equal_after.back(), digits(1, 9), more_after);

  // Before the point, i digits read (no leading zero), and how they compare with the first i.
  const std::uint32_t longer = b.state(how.greater);
  b.edge(longer, any, longer);
  b.edge(longer, point, more_after);
  std::uint32_t next_less = longer;
  std::uint32_t next_equal = longer;
  std::uint32_t next_more = longer;
  for (std::size_t i = whole.size(); i > 0; --i) {
    const bool all = i == whole.size();
    const std::uint32_t less = b.state(how.less);
    const std::uint32_t more = b.state(all ? how.greater : how.less);
    const bool ends_less = !all || !part.empty();
    const std::uint32_t equal = b.state(ends_less ? how.less : how.equal);
    b.edge(less, point, less_after);
    b.edge(more, point, all ? more_after : less_after);
    b.edge(equal, point, all ? equal_after[0] : less_after);
    b.edge(less, any, all ? longer : next_less);
    b.edge(more, any, all ? longer : next_more);
    if (all) {
      b.edge(equal, any, longer);
    } else {
      const int d = whole[i] - '0';
      b.edge(equal, digits(0, d - 1), next_less);
      b.edge(equal, digit(d), next_equal);
      b.edge(equal, digits(d + 1, 9), next_more);
    }
    next_less = less;
    next_equal = equal;
    next_more = more;
  }

  // The first digit: 0 stands for no digits at all.
  const bool below_one = whole.empty();
  const std::uint32_t zero = b.state(below_one && part.empty() ? how.equal : how.less);
  b.edge(zero, point, below_one ? equal_after[0] : less_after);
  const std::uint32_t start = b.state(false);
  b.edge(start, digit(0), zero);
  if (below_one) {
    b.edge(start, digits(1, 9), longer);
  } else {
    const int d = whole[0] - '0';
    b.edge(start, digits(1, d - 1), next_less);
    b.edge(start, digit(d), next_equal);
    b.edge(start, digits(d + 1, 9), next_more);
  }
  // The start is state 0 of an automaton.
  Dfa out = std::move(b.dfa);
  out.states.insert(out.states.begin(), out.states[start]);
  for (Dfa::State& state : out.states) {
    for (Dfa::Edge& e : state.edges) ++e.to;
  }
  return out;
}

// Numbers without minus that are in `plain`, and those with minus that are in `after_minus`.
Dfa with_sign(const Dfa& plain, const Dfa& after_minus) {
  Dfa out = plain;
  const auto offset = static_cast<std::uint32_t>(out.states.size());
  for (Dfa::State state : after_minus.states) {
    for (Dfa::Edge& e : state.edges) e.to += offset;
    out.states.push_back(std::move(state));
  }
  out.states[0].edges.push_back({CharSet::of('-'), offset});
  return *intersect(out, all_numbers());
}

}  // namespace

Dfa all_numbers() {
  static const Dfa kAll =
      of_pattern("^(0(\\.[0-9]+)?|-?[1-9][0-9]*(\\.[0-9]+)?|-0\\.[0-9]*[1-9][0-9]*)$");
  return kAll;
}

Dfa whole_numbers() {
  static const Dfa kWhole = of_pattern("^(0|-?[1-9][0-9]*)(\\.0+)?$");
  return kWhole;
}

Dfa written_numbers(bool with_point) {
  Builder b;
  const CharSet any = digits(0, 9);
  const std::uint32_t start = b.state(false);
  const std::uint32_t sign = b.state(false);
  b.edge(start, CharSet::of('-'), sign);
  // After the point, by how many digits may follow; one must.
  std::vector<std::uint32_t> points;
  std::uint32_t next = b.state(true);
  for (std::size_t left = 1; left < kMaxExactDigits; ++left) {
    points.push_back(b.state(false));
    b.edge(points.back(), any, next);
    const std::uint32_t longer = b.state(true);
    b.edge(longer, any, next);
    next = longer;
  }
  std::uint32_t before = sign;
  for (std::size_t n = 1; n <= kMaxWrittenDigits; ++n) {
    const std::uint32_t here = b.state(true);
    b.edge(before, any, here);
    if (n == 1) b.edge(start, any, here);
    if (with_point && n < kMaxExactDigits)
      b.edge(here, CharSet::of('.'), points[kMaxExactDigits - n - 1]);
    before = here;
  }
  return *intersect(b.dfa, all_numbers());
}

Dfa compared(const Decimal& bound, Comparison how) {
  const Dfa all = magnitudes({}, {true, true, true});
  const Dfa none = magnitudes({}, {false, false, false});
  if (bound.negative) {
    return with_sign(how.greater ? all : none,
                     magnitudes(bound, {how.greater, how.equal, how.less}));
  }
  return with_sign(magnitudes(bound, how), how.less ? all : none);
}

std::optional<Dfa> multiples(const Decimal& step) {
  // step = m / 10^k; a number with j <= k digits after the point, read as one whole number n, is a
  // multiple where m divides n * 10^(k - j).
  Decimal whole = step;
  const std::size_t k = whole.fraction.size();
  whole.digits += whole.fraction;
  whole.digits.erase(0, whole.digits.find_first_not_of('0'));
  whole.fraction.clear();
  const std::optional<std::uint64_t> count = whole.count();
  if (!count || *count > kMaxModulus || k > 100) return std::nullopt;
  const auto m = static_cast<std::uint32_t>(*count);
  const auto last = static_cast<std::uint32_t>(k) + 1;
  if (m * (last + 1) >= kMaxStates) return std::nullopt;

  // State 1 + phase * m + remainder; phase 0 is before the point, j + 1 after j digits behind it.
  Builder b;
  const std::uint32_t start = b.state(false);
  const auto id = [&](std::uint32_t phase, std::uint32_t r) { return 1 + phase * m + r; };
  for (std::uint32_t phase = 0; phase <= last; ++phase) {
    for (std::uint32_t r = 0; r < m; ++r) {
      std::uint32_t scaled = r;
      for (std::uint32_t j = phase == 0 ? 0 : phase - 1; j < k; ++j) scaled = scaled * 10 % m;
      b.state(scaled == 0);
    }
  }
  for (std::uint32_t phase = 0; phase <= last; ++phase) {
    for (std::uint32_t r = 0; r < m; ++r) {
      if (phase == 0) b.edge(id(0, r), CharSet::of('.'), id(1, r));
      for (int d = 0; d < 10; ++d) {
        const std::uint32_t next = (r * 10 + static_cast<std::uint32_t>(d)) % m;
        if (phase < last) b.edge(id(phase, r), digit(d), id(phase == 0 ? 0 : phase + 1, next));
      }
      if (phase == last) b.edge(id(last, r), digit(0), id(last, r));
    }
  }
  for (int d = 0; d < 10; ++d) b.edge(start, digit(d), id(0, static_cast<std::uint32_t>(d) % m));
  const Dfa plain = trim(b.dfa);
  return with_sign(plain, plain);
}

}  // namespace minfer::sampling::schema
