#include "sampling/json_schema/regex_parser.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace minfer::sampling::schema {
namespace {

using Kind = RegexNode::Kind;

// ECMA-262 sections 12.2, 12.3 and 22.2.2.9.
const CharSet kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
const CharSet kDigits{{'0', '9'}};
const CharSet kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CharSet kSpace{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                     {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                     {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

constexpr std::uint32_t kMaxCount = 100'000;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<RegexNode> whole() {
    RegexNode out;
    if (choice(out, 0) && at_ < text_.size()) invalid("')' without '('");
    if (!error_.ok()) return error_;
    return out;
  }

 private:
  bool invalid(std::string_view what) {
    if (error_.ok()) error_ = invalid_argument(fmt::format("at byte {}: {}", at_ + 1, what));
    return false;
  }
  bool unknown(std::string_view what) {
    if (error_.ok())
      error_ = unsupported(fmt::format("at byte {}: {} not supported", at_ + 1, what));
    return false;
  }
  [[nodiscard]] bool starts(std::string_view what) const {
    return text_.substr(at_, what.size()) == what;
  }
  bool take(std::string_view what) {
    if (!starts(what)) return false;
    at_ += what.size();
    return true;
  }

  bool choice(RegexNode& out, int depth) {
    if (depth > kMaxRegexDepth) return unknown("groups nested this deeply are");
    out.kind = Kind::kChoice;
    do {
      if (!sequence(out.children.emplace_back(), depth)) return false;
    } while (take("|"));
    return true;
  }

  bool sequence(RegexNode& out, int depth) {
    out.kind = Kind::kSequence;
    while (at_ < text_.size() && !starts("|") && !starts(")")) {
      RegexNode node;
      if (!atom(node, depth) || !quantifier(node)) return false;
      out.children.push_back(std::move(node));
    }
    return true;
  }

  bool atom(RegexNode& out, int depth) {
    if (take("^")) return out.kind = Kind::kStart, true;
    if (take("$")) return out.kind = Kind::kEnd, true;
    if (take("(")) return group(out, depth);
    out.kind = Kind::kChars;
    if (take(".")) return out.chars = kLineEnds.complement(), true;
    if (take("[")) return char_class(out.chars);
    if (starts("*") || starts("+") || starts("?")) return invalid("nothing to repeat");
    if (std::uint32_t n = 0; starts("{") && count_at(at_, n, n))
      return invalid("nothing to repeat");
    if (take("\\")) return escape(out.chars, false);
    return literal(out.chars);
  }

  bool group(RegexNode& out, int depth) {
    if (take("?:")) {
    } else if (starts("?=") || starts("?!") || starts("?<=") || starts("?<!")) {
      return unknown("look-around is");
    } else if (take("?<")) {
      const std::size_t end = text_.find('>', at_);
      if (end == std::string_view::npos || end == at_) return invalid("a group's name is due");
      at_ = end + 1;
    } else if (starts("?")) {
      return unknown("this kind of group is");
    }
    if (!choice(out, depth + 1)) return false;
    return take(")") || invalid("'(' without ')'");
  }

  // Reads {m}, {m,} or {m,n} at `pos`; 0 where there is none, else the position after it. `max` is
  // kMaxCount + 1 for none.
  std::size_t count_at(std::size_t pos, std::uint32_t& min, std::uint32_t& max) const {
    const auto number = [&](std::uint32_t& value) {
      const std::size_t first = pos;
      for (value = 0; pos < text_.size() && text_[pos] >= '0' && text_[pos] <= '9'; ++pos) {
        if (value <= kMaxCount) value = value * 10 + static_cast<std::uint32_t>(text_[pos] - '0');
      }
      return pos > first;
    };
    ++pos;
    if (!number(min)) return 0;
    max = min;
    if (pos < text_.size() && text_[pos] == ',') {
      ++pos;
      if (!number(max)) max = kMaxCount + 1;
    }
    return pos < text_.size() && text_[pos] == '}' ? pos + 1 : 0;
  }

  bool quantifier(RegexNode& node) {
    RegexNode repeat;
    repeat.kind = Kind::kRepeat;
    std::uint32_t max = 0;
    if (take("*")) {
    } else if (take("+")) {
      repeat.min = 1;
    } else if (take("?")) {
      repeat.max = 1;
    } else if (const std::size_t end = starts("{") ? count_at(at_, repeat.min, max) : 0; end != 0) {
      if (repeat.min > kMaxCount) return unknown("a count this high is");
      if (max < repeat.min) return invalid("the counts are out of order");
      if (max <= kMaxCount) repeat.max = max;
      at_ = end;
    } else {
      return true;
    }
    take("?");
    if (starts("*") || starts("+") || starts("?")) return invalid("nothing to repeat");
    repeat.children.push_back(std::move(node));
    node = std::move(repeat);
    return true;
  }

  bool literal(CharSet& out) {
    const Char c = decode_char(text_, at_);
    if (!c.well_formed) return invalid("a byte that is not UTF-8");
    at_ += c.length;
    out = CharSet::of(c.code);
    return true;
  }

  bool char_class(CharSet& out) {
    const bool negated = take("^");
    CharSet set;
    while (!take("]")) {
      CharSet first;
      if (!class_member(first)) return false;
      if (!starts("-") || starts("-]")) {
        set.add(first);
        continue;
      }
      ++at_;
      CharSet last;
      if (!class_member(last)) return false;
      const auto single = [](const CharSet& s) {
        return s.ranges().size() == 1 && s.ranges()[0].first == s.ranges()[0].second;
      };
      if (!single(first) || !single(last)) return invalid("a range between sets of characters");
      const char32_t from = first.ranges()[0].first;
      const char32_t to = last.ranges()[0].first;
      if (from > to) return invalid("a range out of order");
      set.add(from, to);
    }
    out = negated ? set.complement() : set;
    return true;
  }

  bool class_member(CharSet& out) {
    if (at_ >= text_.size()) return invalid("'[' without ']'");
    if (take("\\")) return escape(out, true);
    return literal(out);
  }

  bool hex(std::size_t digits, char32_t& code) {
    code = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const int value = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) return invalid("hexadecimal digits are due");
      code = code * 16 + static_cast<char32_t>(value);
    }
    return true;
  }

  bool unicode_escape(CharSet& out) {
    char32_t code = 0;
    if (take("{")) {
      const std::size_t end = text_.find('}', at_);
      if (end == std::string_view::npos || end == at_ || end - at_ > 6)
        return invalid("\\u{...} is not closed");
      if (!hex(end - at_, code)) return false;
      ++at_;
    } else {
      if (!hex(4, code)) return false;
      if (code >= 0xD800 && code < 0xDC00 && take("\\u")) {
        char32_t low = 0;
        if (!hex(4, low)) return false;
        if (low < 0xDC00 || low > 0xDFFF) return invalid("half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      return invalid("not a Unicode character");
    out = CharSet::of(code);
    return true;
  }

  bool class_escape(char c, CharSet& out) const {
    switch (c) {
      case 'd':
        return out = kDigits, true;
      case 'D':
        return out = kDigits.complement(), true;
      case 'w':
        return out = kWord, true;
      case 'W':
        return out = kWord.complement(), true;
      case 's':
        return out = kSpace, true;
      case 'S':
        return out = kSpace.complement(), true;
      default:
        return false;
    }
  }

  bool escape(CharSet& out, bool in_class) {
    if (at_ >= text_.size()) return invalid("nothing after the backslash");
    const char c = text_[at_];
    if (class_escape(c, out)) return ++at_, true;
    if (c >= '1' && c <= '9') return unknown("back-references are");
    if (c == 'k') return unknown("back-references are");
    if (c == 'p' || c == 'P') return unknown("character properties (\\p) are");
    if ((c == 'b' && !in_class) || c == 'B') return unknown("word boundaries are");
    static constexpr std::string_view kFrom = "tnvfrb0";
    static constexpr std::string_view kTo("\t\n\v\f\r\b\0", 7);
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      ++at_;
      if (c == '0' && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
        return invalid("octal escapes are not ECMA-262");
      return out = CharSet::of(static_cast<unsigned char>(kTo[i])), true;
    }
    if (c == 'x' || c == 'u') {
      ++at_;
      if (c == 'u') return unicode_escape(out);
      char32_t code = 0;
      return hex(2, code) && (out = CharSet::of(code), true);
    }
    if (c == 'c') return control_escape(out);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) return invalid(fmt::format("\\{} is no escape of ECMA-262", c));
    return literal(out);
  }

  bool control_escape(CharSet& out) {
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if ((letter < 'a' || letter > 'z') && (letter < 'A' || letter > 'Z'))
      return invalid("a letter is due after \\c");
    at_ += 2;
    out = CharSet::of(static_cast<char32_t>(letter & 31));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Status error_;
};

}  // namespace

Result<RegexNode> parse_regex(std::string_view pattern) { return Parser(pattern).whole(); }

}  // namespace minfer::sampling::schema
