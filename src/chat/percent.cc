// Python's `text % values`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

constexpr std::int64_t kMaxWidth = std::int64_t{1} << 26;
constexpr std::int64_t kMaxPrecision = 1000;

/// %[(key)][flags][width][.precision]conversion
struct Conversion {
  bool left = false, plus = false, blank = false, alternate = false, zero = false;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 's';
};

class Formatter {
 public:
  Formatter(Run& run, const Text& format, const Value& values)
      : run_(run), format_(format), bytes_(format.bytes()), values_(values) {}

  Text result() {
    while (at_ < bytes_.size()) {
      const std::size_t mark = std::min(bytes_.find('%', at_), bytes_.size());
      out_.append(format_, at_, mark);
      at_ = mark;
      if (at_ < bytes_.size()) conversion();
    }
    const bool is_mapping =
        values_.dict() != nullptr || (values_.list() != nullptr && !values_.list()->tuple);
    if (!is_mapping && used_ < n_values())
      fail("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_tuple() const { return values_.list() != nullptr && values_.list()->tuple; }
  [[nodiscard]] std::size_t n_values() const {
    return is_tuple() ? values_.list()->items.size() : 1;
  }

  char peek() {
    if (at_ >= bytes_.size()) fail("incomplete format");
    return bytes_[at_];
  }

  const Value& next_value() {
    if (used_ >= n_values()) fail("not enough arguments for format string");
    const std::size_t i = used_++;
    return is_tuple() ? values_.list()->items[i] : values_;
  }

  std::int64_t number(std::int64_t limit) {
    std::int64_t n = 0;
    if (peek() == '*') {
      ++at_;
      if (!next_value().integer(n)) fail("* wants int");
    } else {
      for (; peek() >= '0' && peek() <= '9'; ++at_)
        n = std::min(n * 10 + (peek() - '0'), limit + 1);
    }
    if (n > limit) fail("the template makes too long a text");
    return n;
  }

  const Value* key() {
    if (peek() != '(') return nullptr;
    const std::size_t begin = ++at_;
    for (int depth = 1; depth > 0; ++at_) {
      if (at_ >= bytes_.size()) fail("incomplete format key");
      depth += bytes_[at_] == '(' ? 1 : bytes_[at_] == ')' ? -1 : 0;
    }
    if (values_.dict() == nullptr) fail("format requires a mapping");
    const Value* found = values_.dict()->find(bytes_.substr(begin, at_ - 1 - begin));
    if (found == nullptr) fail("the mapping lacks a key of the format");
    return found;
  }

  void conversion() {
    ++at_;
    Conversion c;
    const Value* value = key();
    for (bool more = true; more; at_ += more ? 1 : 0) {
      switch (peek()) {
        case '-':
          c.left = true;
          break;
        case '+':
          c.plus = true;
          break;
        case ' ':
          c.blank = true;
          break;
        case '#':
          c.alternate = true;
          break;
        case '0':
          c.zero = true;
          break;
        default:
          more = false;
      }
    }
    c.width = number(kMaxWidth);
    if (c.width < 0) {
      c.left = true;
      c.width = c.width < -kMaxWidth ? kMaxWidth : -c.width;
    }
    if (peek() == '.') {
      ++at_;
      c.precision = std::max<std::int64_t>(number(kMaxPrecision), 0);
    }
    while (peek() == 'h' || peek() == 'l' || peek() == 'L') ++at_;
    c.type = peek();
    ++at_;
    if (c.type == '%') return out_.append(format_, at_ - 1, at_);
    write(c, value != nullptr ? *value : next_value());
  }

  void write(const Conversion& c, const Value& value) {
    static constexpr std::string_view kKnown = "srdiuxXocfFeEgG";
    if (kKnown.find(c.type) == std::string_view::npos) fail("unsupported format character");
    if (c.type == 's' || c.type == 'r') {
      Text text = c.type == 's' ? to_text(run_, value) : value.repr();
      if (c.precision >= 0) text = first_chars(text, static_cast<std::size_t>(c.precision));
      return padded(c, text);
    }
    if (c.type == 'c') return padded(c, character(value));
    std::string sign;
    std::string digits = std::string_view("diuxXo").find(c.type) != std::string_view::npos
                             ? integer(c, value, sign)
                             : real(c, value, sign);
    if (sign.empty() || sign[0] != '-') sign.insert(0, c.plus ? "+" : c.blank ? " " : "");
    const auto n = static_cast<std::int64_t>(sign.size() + digits.size());
    if (c.zero && !c.left && n < c.width) {
      run_.made_bytes(static_cast<std::size_t>(c.width - n));
      digits.insert(0, static_cast<std::size_t>(c.width - n), '0');
    }
    padded(c, Text(sign + digits, Origin::kRequest));
  }

  static Text first_chars(const Text& text, std::size_t n) {
    const auto starts = char_starts(text.bytes());
    return text.sub(0, starts[std::min(n, starts.size() - 1)]);
  }

  static Text character(const Value& value) {
    if (value.text() != nullptr) {
      if (char_starts(value.text()->bytes()).size() != 2) fail("%c requires int or char");
      return *value.text();
    }
    std::int64_t code = 0;
    if (!value.integer(code) || code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail("%c requires int or char");
    std::string bytes;
    append_utf8(bytes, static_cast<char32_t>(code));
    return Text(std::move(bytes), Origin::kRequest);
  }

  /// The digits; `sign` with the prefix of the alternate form.
  static std::string integer(const Conversion& c, const Value& value, std::string& sign) {
    std::int64_t i = 0;
    const bool is_decimal = c.type == 'd' || c.type == 'i' || c.type == 'u';
    if (!value.integer(i)) {
      const auto* d = value.as<double>();
      if (d == nullptr || !is_decimal)
        fail(fmt::format("%{} format: a number is required", c.type));
      if (!(std::fabs(*d) < 9e18)) fail("an integer is out of range");
      i = static_cast<std::int64_t>(*d);
    }
    if (i < 0) sign = "-";
    const std::uint64_t size =
        i < 0 ? 0 - static_cast<std::uint64_t>(i) : static_cast<std::uint64_t>(i);
    std::string digits = c.type == 'x'   ? fmt::format("{:x}", size)
                         : c.type == 'X' ? fmt::format("{:X}", size)
                         : c.type == 'o' ? fmt::format("{:o}", size)
                                         : fmt::format("{}", size);
    if (c.alternate && !is_decimal) sign += c.type == 'o' ? "0o" : c.type == 'x' ? "0x" : "0X";
    if (static_cast<std::int64_t>(digits.size()) < c.precision)
      digits.insert(0, static_cast<std::size_t>(c.precision) - digits.size(), '0');
    return digits;
  }

  static std::string real(const Conversion& c, const Value& value, std::string& sign) {
    double d = 0;
    if (!value.number(d)) fail("must be real number");
    if (std::signbit(d) && !std::isnan(d)) sign = "-";
    const std::string spec = fmt::format("%{}.*{}", c.alternate ? "#" : "", c.type);
    const int precision = c.precision < 0 ? 6 : static_cast<int>(c.precision);
    std::string out(static_cast<std::size_t>(precision) + 400, '\0');
    const int n = std::snprintf(out.data(), out.size(), spec.c_str(), precision, std::fabs(d));
    out.resize(static_cast<std::size_t>(n));
    return out;
  }

  void padded(const Conversion& c, const Text& text) {
    Text whole = pad(run_, text, c.width, !c.left);
    run_.made_bytes(whole.size());
    out_.append(whole);
  }

  Run& run_;
  const Text& format_;
  const std::string& bytes_;
  const Value& values_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  Text out_;
};

}  // namespace

Text percent_format(Run& run, const Text& format, const Value& values) {
  return Formatter(run, format, values).result();
}

Value filter_format(Run& run, const Value& v, const Args& a) {
  if (!a.positional.empty() && !a.named.empty())
    fail("can't handle positional and keyword arguments at the same time");
  const Text format = to_text(run, v);
  if (a.named.empty()) return Value(percent_format(run, format, Value::list(a.positional, true)));
  Dict named;
  for (const auto& [name, value] : a.named) named.set(Value::literal(name), value);
  return Value(percent_format(run, format, Value::dict(std::move(named))));
}

}  // namespace minfer::chat
