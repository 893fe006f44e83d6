#include "grammar_oracle.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace minfer::sampling {
namespace {

int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

char32_t letter(std::mt19937& random) {
  return TreeGrammar::kAlphabet[static_cast<std::size_t>(
      below(random, static_cast<int>(TreeGrammar::kAlphabet.size())))];
}

}  // namespace

std::string to_utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

std::u32string random_text(std::mt19937& random, std::size_t length) {
  std::u32string text;
  for (std::size_t n = random() % (length + 1); n > 0; --n) text += letter(random);
  return text;
}

TreeGrammar::TreeGrammar(std::mt19937& random) {
  const int n = 1 + below(random, 3);
  rules_.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    // The first alternative calls nothing, so that every rule can end.
    Expression choice{.kind = Expression::Kind::kChoice};
    choice.parts.push_back({.text = {letter(random)}});
    choice.parts.push_back(expression(random, i, 3, true));
    rules_[static_cast<std::size_t>(i)] = choice;
  }
}

Expression TreeGrammar::expression(std::mt19937& random, int rule, int depth, bool first) const {
  const int n = static_cast<int>(rules_.size());
  switch (depth == 0 ? below(random, 2) : below(random, 7)) {
    case 0: {
      Expression e{.text = {}};
      for (int length = below(random, 3); length > 0; --length) e.text += letter(random);
      return e;
    }
    case 1: {
      Expression e{.kind = Expression::Kind::kClass, .negated = below(random, 3) == 0};
      for (int length = 1 + below(random, 2); length > 0; --length) e.text += letter(random);
      return e;
    }
    case 2:
      if (!first) return {.kind = Expression::Kind::kRule, .rule = below(random, n)};
      if (rule + 1 == n) return {.text = {letter(random)}};
      return {.kind = Expression::Kind::kRule, .rule = rule + 1 + below(random, n - rule - 1)};
    case 3:
    case 4: {
      Expression e{.kind = Expression::Kind::kSequence};
      const int length = 1 + below(random, 3);
      bool leads = first;
      for (int i = 0; i < length; ++i) {
        e.parts.push_back(expression(random, rule, depth - 1, leads));
        const Expression& part = e.parts.back();
        if (part.kind == Expression::Kind::kClass ||
            (part.kind == Expression::Kind::kText && !part.text.empty())) {
          leads = false;
        }
      }
      return e;
    }
    case 5: {
      Expression e{.kind = Expression::Kind::kChoice};
      for (int i = 2 + below(random, 2); i > 0; --i)
        e.parts.push_back(expression(random, rule, depth - 1, first));
      return e;
    }
    default: {
      Expression e{.kind = Expression::Kind::kRepeat, .min = below(random, 4)};
      e.max = below(random, 3) == 0 ? -1 : e.min + below(random, 4);
      // Behind the first iteration the body has read something, or it begins where it began.
      e.parts.push_back(expression(random, rule, depth - 1, first));
      return e;
    }
  }
}

void TreeGrammar::write(const Expression& e, std::string& out) {
  const auto character = [&](char32_t c) {
    out += c < 128 ? fmt::format("{}", static_cast<char>(c))
                   : fmt::format("\\U{:08X}", static_cast<unsigned>(c));
  };
  switch (e.kind) {
    case Expression::Kind::kText:
      out += '"';
      for (const char32_t c : e.text) character(c);
      out += '"';
      break;
    case Expression::Kind::kClass:
      out += e.negated ? "[^" : "[";
      for (const char32_t c : e.text) character(c);
      out += ']';
      break;
    case Expression::Kind::kRule:
      out += e.rule == 0 ? "root" : fmt::format("r{}", e.rule);
      break;
    case Expression::Kind::kSequence:
    case Expression::Kind::kChoice:
      out += '(';
      for (std::size_t i = 0; i < e.parts.size(); ++i) {
        if (i > 0) out += e.kind == Expression::Kind::kChoice ? " | " : " ";
        write(e.parts[i], out);
      }
      out += ')';
      break;
    case Expression::Kind::kRepeat:
      out += '(';
      write(e.parts[0], out);
      out += ')';
      if (e.max < 0 && e.min < 2) {
        out += e.min == 0 ? "*" : "+";
      } else if (e.max < 0) {
        out += fmt::format("{{{},}}", e.min);
      } else if (e.min == 0 && e.max == 1) {
        out += "?";
      } else {
        out += fmt::format("{{{},{}}}", e.min, e.max);
      }
      break;
  }
}

std::string TreeGrammar::gbnf() const {
  std::string out;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    out += i == 0 ? "root ::= " : fmt::format("r{} ::= ", i);
    write(rules_[i], out);
    out += "\n";
  }
  return out;
}

TreeGrammar::Ends TreeGrammar::ends_of_repeat(const Expression& e, std::u32string_view text,
                                              std::size_t at, bool& open) const {
  // Iterations past min that read nothing add nothing.
  const int useful = e.min + static_cast<int>(text.size()) + 1;
  const int max = e.max < 0 ? useful : std::min(e.max, useful);
  Ends now{at};
  Ends all;
  for (int i = 0;; ++i) {
    if (i >= e.min) all.insert(now.begin(), now.end());
    if (i == max) return all;
    Ends next;
    for (const std::size_t from : now) next.merge(ends(e.parts[0], text, from, open));
    now = std::move(next);
  }
}

TreeGrammar::Ends TreeGrammar::ends(const Expression& e, std::u32string_view text, std::size_t at,
                                    bool& open) const {
  switch (e.kind) {
    case Expression::Kind::kText:
      for (const char32_t c : e.text) {
        if (at == text.size()) open = true;
        if (at == text.size() || text[at] != c) return {};
        ++at;
      }
      return {at};
    case Expression::Kind::kClass:
      if (at == text.size()) open = true;
      if (at == text.size() || (e.text.find(text[at]) == e.text.npos) != e.negated) return {};
      return {at + 1};
    case Expression::Kind::kRule:
      return ends(rules_[static_cast<std::size_t>(e.rule)], text, at, open);
    case Expression::Kind::kSequence: {
      Ends now{at};
      for (const Expression& part : e.parts) {
        Ends next;
        for (const std::size_t from : now) next.merge(ends(part, text, from, open));
        now = std::move(next);
      }
      return now;
    }
    case Expression::Kind::kChoice: {
      Ends all;
      for (const Expression& part : e.parts) all.merge(ends(part, text, at, open));
      return all;
    }
    case Expression::Kind::kRepeat:
      return ends_of_repeat(e, text, at, open);
  }
  return {};
}

bool TreeGrammar::accepts(std::u32string_view text) const {
  bool open = false;
  return ends(rules_[0], text, 0, open).contains(text.size());
}

bool TreeGrammar::begins(std::u32string_view text) const {
  bool open = false;
  const bool whole = ends(rules_[0], text, 0, open).contains(text.size());
  return whole || open;
}

}  // namespace minfer::sampling
