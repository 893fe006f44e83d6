#include "chat/reply_value.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/utf8.h"
#include "chat/reply_marks.h"

namespace minfer::chat {
namespace {

constexpr std::size_t kMaxNesting = 100;
constexpr std::size_t kMaxWord = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_byte(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
         c == '.' || c == '_';
}
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::size_t digits(std::string_view s, std::size_t at) {
  std::size_t n = 0;
  while (at + n < s.size() && is_digit(s[at + n])) ++n;
  return n;
}

// The number of RFC 8259, section 6.
bool is_number(std::string_view s) {
  std::size_t at = s.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(s, at);
  if (whole == 0 || (whole > 1 && s[at] == '0')) return false;
  at += whole;
  if (at < s.size() && s[at] == '.') {
    const std::size_t n = digits(s, at + 1);
    if (n == 0) return false;
    at += 1 + n;
  }
  if (at < s.size() && (s[at] == 'e' || s[at] == 'E')) {
    ++at;
    if (at < s.size() && (s[at] == '+' || s[at] == '-')) ++at;
    const std::size_t n = digits(s, at);
    if (n == 0) return false;
    at += n;
  }
  return at == s.size();
}

}  // namespace

void append_json_byte(std::string& out, char byte) {
  static constexpr std::string_view kFrom = "\"\\\n\r\t\b\f";
  static constexpr std::string_view kTo = "\"\\nrtbf";
  if (const std::size_t i = kFrom.find(byte); i != std::string_view::npos) {
    out += '\\';
    out += kTo[i];
  } else if (static_cast<unsigned char>(byte) < 0x20) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  } else {
    out += byte;
  }
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : replace_invalid_utf8(text)) append_json_byte(out, c);
  return out + '"';
}

std::string json_text(const JsonValue& value) {
  // Nesting is bounded by parse_json.
  if (const auto* s = value.string()) return json_quoted(*s);
  if (const auto* b = std::get_if<bool>(&value.data)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value.data)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&value.data)) {
    JsonWriter writer;
    writer.number(*d);
    return writer.text();
  }
  std::string out;
  if (const auto* items = value.array()) {
    for (const JsonValue& item : *items) out += (out.empty() ? "" : ", ") + json_text(item);
    return "[" + out + "]";
  }
  if (const auto* members = value.object()) {
    for (const auto& [key, member] : *members)
      out += (out.empty() ? "" : ", ") + json_quoted(key) + ": " + json_text(member);
    return "{" + out + "}";
  }
  return "null";
}

ValueReader::ValueReader(ValueNotation notation, std::string_view quote, bool arguments)
    : notation_(notation), quote_(quote), arguments_(arguments) {}

ValueReader::State ValueReader::read(std::string_view text, std::size_t& used, std::string& out) {
  used = 0;
  while (used < text.size() && mode_ != Mode::kDone && mode_ != Mode::kBad) {
    if (take(text[used], out)) ++used;
  }
  if (mode_ == Mode::kBad) return State::kBad;
  return mode_ == Mode::kDone ? State::kDone : State::kMore;
}

ValueReader::State ValueReader::finish(std::string& out) {
  if (mode_ == Mode::kWord && open_.empty() && end_word(out)) end_value();
  return mode_ == Mode::kDone ? State::kDone : State::kBad;
}

bool ValueReader::take(char c, std::string& out) {
  switch (mode_) {
    case Mode::kString:
      string_byte(c, out);
      return true;
    case Mode::kQuotedText:
      quoted_byte(c, out);
      return true;
    case Mode::kWord:
      if (is_word_byte(c)) {
        waiting_ += c;
        if (waiting_.size() > kMaxWord) fail();
        return true;
      }
      if (end_word(out)) end_value();
      return false;
    case Mode::kBareKey:
      if (c == open_.back().key_end) {
        end_bare_key(out);
      } else {
        waiting_ += c;
        if (waiting_.size() > 256) fail();
      }
      return true;
    default:
      break;
  }
  if (kBlanks.find(c) != std::string_view::npos) return true;
  switch (mode_) {
    case Mode::kValueOrClose:
      if (c == open_.back().close) {
        close(out);
        return true;
      }
      [[fallthrough]];
    case Mode::kValue:
      begin_value(c, out);
      return true;
    case Mode::kKeyOrClose:
      if (c == open_.back().close) {
        close(out);
        return true;
      }
      [[fallthrough]];
    case Mode::kKey:
      begin_key(c, out);
      return true;
    case Mode::kColon:
      if (c != open_.back().key_end) {
        fail();
        return true;
      }
      out += ": ";
      mode_ = Mode::kValue;
      return true;
    default:  // kNext
      next(c, out);
      return true;
  }
}

void ValueReader::begin_value(char c, std::string& out) {
  const bool top = open_.empty();
  if (top && arguments_ && c != (notation_ == ValueNotation::kPython ? '(' : '{')) return fail();
  if (comma_) out += ", ";
  comma_ = false;
  is_key_ = false;
  if (c == '{' || c == '[' || (c == '(' && notation_ == ValueNotation::kPython)) {
    open(c, out);
  } else if (c == '"' || (c == '\'' && notation_ == ValueNotation::kPython)) {
    begin_string(c, out);
  } else if (notation_ == ValueNotation::kQuoted && !quote_.empty() && c == quote_[0]) {
    out += '"';
    waiting_ = c;
    hex_left_ = 1;  // the opening mark is being read
    mode_ = Mode::kQuotedText;
    if (quote_.size() == 1) {
      waiting_.clear();
      hex_left_ = 0;
    }
  } else if (is_word_byte(c)) {
    waiting_ = c;
    mode_ = Mode::kWord;
  } else {
    fail();
  }
}

void ValueReader::begin_key(char c, std::string& out) {
  if (comma_) out += ", ";
  comma_ = false;
  is_key_ = true;
  const bool bare = notation_ == ValueNotation::kQuoted || open_.back().key_end == '=';
  if (c == '"' || (c == '\'' && notation_ == ValueNotation::kPython)) {
    begin_string(c, out);
  } else if (bare && c != open_.back().key_end) {
    waiting_ = c;
    mode_ = Mode::kBareKey;
  } else {
    fail();
  }
}

void ValueReader::begin_string(char delimiter, std::string& out) {
  out += '"';
  delimiter_ = delimiter;
  waiting_.clear();
  mode_ = Mode::kString;
}

void ValueReader::open(char c, std::string& out) {
  if (open_.size() >= kMaxNesting) return fail();
  const bool call = c == '(' && open_.empty() && arguments_;
  const bool keys = c == '{' || call;
  open_.push_back({c == '{' ? '}' : c == '[' ? ']' : ')', keys, call ? '=' : ':'});
  out += keys ? '{' : '[';
  mode_ = keys ? Mode::kKeyOrClose : Mode::kValueOrClose;
}

void ValueReader::close(std::string& out) {
  out += open_.back().has_keys ? '}' : ']';
  open_.pop_back();
  comma_ = false;
  end_value();
}

void ValueReader::next(char c, std::string& out) {
  if (c == open_.back().close) return close(out);
  if (c != ',') return fail();
  comma_ = true;
  const bool may_close = notation_ == ValueNotation::kPython;
  if (open_.back().has_keys) {
    mode_ = may_close ? Mode::kKeyOrClose : Mode::kKey;
  } else {
    mode_ = may_close ? Mode::kValueOrClose : Mode::kValue;
  }
}

void ValueReader::string_byte(char c, std::string& out) {
  if (!waiting_.empty()) {
    escape_byte(c, out);
  } else if (c == '\\') {
    waiting_ = c;
  } else if (c == delimiter_) {
    end_string(out);
  } else {
    append_json_byte(out, c);  // a raw line break becomes its escape
  }
}

void ValueReader::escape_byte(char c, std::string& out) {
  if (waiting_.size() > 1) return hex_escape(c, out);
  const bool python = notation_ == ValueNotation::kPython;
  if (c == 'u' || (python && (c == 'x' || c == 'U'))) {
    waiting_ += c;
    hex_left_ = c == 'u' ? 4 : c == 'x' ? 2 : 8;
    return;
  }
  waiting_.clear();
  static constexpr std::string_view kSame = "\"\\/bfnrt";
  if (kSame.find(c) != std::string_view::npos && !(python && c == '/')) {
    out += '\\';
    out += c;
  } else if (python) {
    if (c == '\'') {
      out += c;
    } else if (c != '\n') {  // an unknown escape is both of its characters
      out += "\\\\";
      append_json_byte(out, c);
    }
  } else {
    fail();
  }
}

void ValueReader::hex_escape(char c, std::string& out) {
  if (!is_hex(c)) return fail();
  waiting_ += c;
  if (--hex_left_ > 0) return;
  const std::string hex = waiting_.substr(2);
  if (hex.size() <= 4) {
    out += hex.size() == 2 ? "\\u00" : "\\u";
    out += hex;
  } else {
    const unsigned long code = std::stoul(hex, nullptr, 16);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return fail();
    if (code < 0x80) {
      append_json_byte(out, static_cast<char>(code));
    } else {
      append_utf8(out, static_cast<char32_t>(code));
    }
  }
  waiting_.clear();
}

void ValueReader::quoted_byte(char c, std::string& out) {
  waiting_ += c;
  if (hex_left_ > 0) {
    if (!quote_.starts_with(waiting_)) return fail();
    if (waiting_ == quote_) {
      waiting_.clear();
      hex_left_ = 0;
    }
    return;
  }
  while (!waiting_.empty() && !quote_.starts_with(waiting_)) {
    append_json_byte(out, waiting_.front());
    waiting_.erase(0, 1);
  }
  if (waiting_ == quote_) end_string(out);
}

void ValueReader::end_string(std::string& out) {
  waiting_.clear();
  out += '"';
  if (is_key_) {
    mode_ = Mode::kColon;
  } else {
    end_value();
  }
}

void ValueReader::end_bare_key(std::string& out) {
  std::string_view key = trimmed(waiting_);
  // A quoted key in bare notation.
  if (!quote_.empty() && key.size() >= 2 * quote_.size() && key.starts_with(quote_) &&
      key.ends_with(quote_))
    key = key.substr(quote_.size(), key.size() - 2 * quote_.size());
  if (key.empty()) return fail();
  out += '"';
  for (const char c : key) append_json_byte(out, c);
  out += "\": ";
  waiting_.clear();
  mode_ = Mode::kValue;
}

bool ValueReader::end_word(std::string& out) {
  std::string_view word = waiting_;
  if (notation_ == ValueNotation::kPython) {
    if (word == "True") word = "true";
    if (word == "False") word = "false";
    if (word == "None") word = "null";
  }
  if (word != "true" && word != "false" && word != "null" && !is_number(word)) {
    fail();
    return false;
  }
  out += word;
  waiting_.clear();
  return true;
}

void ValueReader::end_value() { mode_ = open_.empty() ? Mode::kDone : Mode::kNext; }

}  // namespace minfer::chat
