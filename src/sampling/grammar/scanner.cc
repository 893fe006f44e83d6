#include "sampling/grammar/scanner.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/utf8.h"

namespace minfer::sampling {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Status grammar_error(Place place, std::string_view rule, std::string_view what) {
  const std::string where =
      rule.empty() ? std::string() : fmt::format(", rule \"{}\"", printable(rule));
  return invalid_argument(
      fmt::format("grammar, line {}, column {}{}: {}", place.line, place.column, where, what));
}

Status Scanner::check_utf8(std::string_view text) {
  Scanner scanner(text);
  while (!scanner.at_end()) {
    if (!decode_char(scanner.text_, scanner.pos_).well_formed) {
      return grammar_error(
          scanner.place(), "",
          fmt::format("the byte 0x{:02X} is no UTF-8", static_cast<unsigned char>(scanner.peek())));
    }
    scanner.take();
  }
  return ok_status();
}

char32_t Scanner::take() {
  const Char c = decode_char(text_, pos_);
  pos_ += c.length;
  if (c.code == '\n') {
    ++place_.line;
    place_.column = 1;
  } else {
    ++place_.column;
  }
  return c.code;
}

bool Scanner::take_if(std::string_view word) {
  if (!looking_at(word)) return false;
  for (std::size_t i = 0; i < word.size(); ++i) take();
  return true;
}

bool Scanner::skip_blanks() {
  bool line_end = false;
  while (!at_end()) {
    const char c = peek();
    if (c == '#') {
      while (!at_end() && peek() != '\n') take();
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line_end = line_end || c == '\n';
      take();
    } else {
      break;
    }
  }
  return line_end;
}

std::string_view Scanner::take_name() {
  const std::size_t start = pos_;
  while (!at_end() && is_name_char(peek())) take();
  return text_.substr(start, pos_ - start);
}

bool Scanner::defines_ahead() const {
  std::size_t pos = pos_;
  while (pos < text_.size() && (text_[pos] == ' ' || text_[pos] == '\t')) ++pos;
  return text_.substr(pos).starts_with("::=");
}

Result<char32_t> Scanner::take_literal(char closing, std::string_view rule) {
  const Place start = place_;
  if (at_end() || peek() == '\n') {
    return grammar_error(
        start, rule,
        closing == '"' ? "the string has no closing \"" : "the character class has no closing ]");
  }
  const char32_t code = take();
  return code == '\\' ? take_escape(rule, start) : Result<char32_t>(code);
}

Result<char32_t> Scanner::take_escape(std::string_view rule, Place start) {
  const char c = peek();
  if (at_end() || c == '\n') return grammar_error(start, rule, "nothing follows the backslash");
  take();
  std::size_t digits = 0;
  switch (c) {
    case 'n':
      return U'\n';
    case 't':
      return U'\t';
    case 'r':
      return U'\r';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^':
      return static_cast<char32_t>(c);
    case 'x':
      digits = 2;
      break;
    case 'u':
      digits = 4;
      break;
    case 'U':
      digits = 8;
      break;
    default:
      return grammar_error(start, rule,
                           R"(unknown escape: there are \n \t \r \\ \" \[ \] \- \^ \xHH \uHHHH )"
                           R"(\UHHHHHHHH)");
  }
  std::uint64_t code = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int digit = hex_digit(peek());
    if (digit < 0) {
      return grammar_error(start, rule, fmt::format("\\{} wants {} hexadecimal digits", c, digits));
    }
    code = code * 16 + static_cast<std::uint64_t>(digit);
    take();
  }
  if (c == 'x' && code > 0x7F) {
    return grammar_error(start, rule,
                         fmt::format("the byte \\x{0:02X} is no UTF-8: a character past \\x7F is "
                                     "written as \\u00{0:02X}",
                                     code));
  }
  if (code > kMaxCharacter || !is_character(static_cast<char32_t>(code))) {
    return grammar_error(start, rule, fmt::format("U+{:04X} is no Unicode character", code));
  }
  return static_cast<char32_t>(code);
}

Result<CharClass> Scanner::take_class(std::string_view rule) {
  const Place start = place_;
  take();
  const bool negated = take_if("^");
  std::vector<CharClass::Range> ranges;
  while (at_end() || peek() != ']') {
    const Place low_place = place_;
    MINFER_ASSIGN_OR_RETURN(const char32_t low, take_literal(']', rule));
    char32_t high = low;
    if (peek() == '-' && !looking_at("-]")) {
      take();
      MINFER_ASSIGN_OR_RETURN(high, take_literal(']', rule));
    }
    if (high < low) {
      return grammar_error(
          low_place, rule,
          fmt::format("the range runs backwards: U+{:04X} comes after U+{:04X}",
                      static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high)));
    }
    ranges.push_back({low, high});
  }
  take();
  const bool none = ranges.empty();
  CharClass result(std::move(ranges), negated);
  if (result.empty() || none) {
    return grammar_error(start, rule, "the character class is empty");
  }
  return result;
}

Result<std::uint64_t> Scanner::take_count(std::string_view rule) {
  const Place start = place_;
  std::uint64_t count = 0;
  bool any = false;
  while (peek() >= '0' && peek() <= '9') {
    count = count * 10 + static_cast<std::uint64_t>(take() - U'0');
    any = true;
    if (count > kMaxCount) {
      return grammar_error(start, rule,
                           fmt::format("unbounded expansion: a count is at most {}", kMaxCount));
    }
  }
  if (!any) return grammar_error(start, rule, "a count is missing: write {2}, {2,}, {,4} or {2,4}");
  return count;
}

Result<std::string_view> Scanner::take_until(char closing, std::string_view rule) {
  const Place start = place_;
  const std::size_t first = pos_;
  while (!at_end() && peek() != '\n' && peek() != closing) take();
  const std::string_view text = text_.substr(first, pos_ - first);
  if (peek() != closing || text.empty()) {
    return grammar_error(start, rule, "a token is written as <name> or as <[id]>, on one line");
  }
  take();
  return text;
}

}  // namespace minfer::sampling
