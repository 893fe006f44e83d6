#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/utf8.h"

namespace minfer {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // RFC 8259, 8.1: may be ignored

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<JsonValue> document() {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    JsonValue value;
    if (read_value(value, 0)) {
      skip_blanks();
      if (at_ != text_.size()) fail("text after the end of the document");
    }
    if (!error_.empty()) return invalid_argument(error_);
    return value;
  }

 private:
  bool fail(std::string_view what) {
    if (!error_.empty()) return false;
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == std::string_view::npos ? at_ + 1 : at_ - start;
    error_ = fmt::format("JSON, line {}, column {}: {}", line, column, what);
    return false;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool read_value(JsonValue& out, int depth) {
    skip_blanks();
    if (at_ >= text_.size()) return fail("the document ends where a value is due");
    if (depth > kMaxJsonDepth) return fail("nested too deeply");
    const char c = text_[at_];
    if (c == '{') return read_object(out, depth);
    if (c == '[') return read_array(out, depth);
    if (c == '"') return read_string(out.data.emplace<std::string>());
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(out);
    if (take_word("true")) return out.data = true, true;
    if (take_word("false")) return out.data = false, true;
    if (take_word("null")) return out.data = nullptr, true;
    return fail("no value begins with this character");
  }

  bool read_object(JsonValue& out, int depth) {
    auto& members = out.data.emplace<JsonValue::Object>();
    std::unordered_map<std::string, std::size_t> places;
    ++at_;
    if (take('}')) return true;
    do {
      skip_blanks();
      std::string key;
      if (at_ >= text_.size() || text_[at_] != '"') return fail("a key in quotes is due here");
      if (!read_string(key)) return false;
      if (!take(':')) return fail("':' is due here");
      JsonValue value;
      if (!read_value(value, depth + 1)) return false;
      const auto [place, fresh] = places.emplace(key, members.size());
      if (fresh) {
        members.emplace_back(std::move(key), std::move(value));
      } else {
        members[place->second].second = std::move(value);
      }
    } while (take(','));
    return take('}') || fail("',' or '}' is due here");
  }

  bool read_array(JsonValue& out, int depth) {
    auto& items = out.data.emplace<JsonValue::Array>();
    ++at_;
    if (take(']')) return true;
    do {
      items.emplace_back();
      if (!read_value(items.back(), depth + 1)) return false;
    } while (take(','));
    return take(']') || fail("',' or ']' is due here");
  }

  bool read_number(JsonValue& out) {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ > first;
    };
    if (text_[at_] == '-') ++at_;
    const bool zero = at_ < text_.size() && text_[at_] == '0';
    const std::size_t first = at_;
    if (!digits() || (zero && at_ - first > 1)) return fail("not a number");
    bool fraction = false;
    if (at_ < text_.size() && text_[at_] == '.') {
      fraction = true;
      ++at_;
      if (!digits()) return fail("digits are due after the point");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      fraction = true;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return fail("digits are due in the exponent");
    }
    const char* from = text_.data() + begin;
    const char* to = text_.data() + at_;
    std::int64_t integer = 0;
    if (!fraction && std::from_chars(from, to, integer).ec == std::errc()) {
      out.data = integer;
      return true;
    }
    double number = 0;
    if (std::from_chars(from, to, number).ec != std::errc())
      return fail("the number is out of range");
    out.data = number;
    out.spelling.assign(from, to);
    return true;
  }

  bool read_hex(std::uint32_t& code) {
    const std::string_view digits = text_.substr(at_, 4);
    const auto [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || error != std::errc() || rest != digits.data() + 4)
      return fail("four hexadecimal digits are due after \\u");
    at_ += 4;
    return true;
  }

  bool read_escape(std::string& out) {
    if (at_ >= text_.size()) return fail("the string does not end");
    const char c = text_[at_++];
    static constexpr std::string_view kFrom = "\"\\/bfnrt";
    static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      out += kTo[i];
      return true;
    }
    std::uint32_t code = 0;
    if (c != 'u') return fail("unknown escape");
    if (!read_hex(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      const std::size_t back = at_;
      std::uint32_t low = 0;
      at_ += 2;
      if (!read_hex(low)) return false;
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = back;
      }
    }
    append_utf8(out, code >= 0xD800 && code < 0xE000 ? kReplacement : code);
    return true;
  }

  bool read_string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string");
      if (c == '\\') {
        ++at_;
        if (!read_escape(out)) return false;
        continue;
      }
      const Char character = decode_char(text_, at_);
      if (!character.well_formed) return fail("a byte that is not UTF-8");
      out.append(text_, at_, character.length);
      at_ += character.length;
    }
    return fail("the string does not end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  if (const Object* members = object(); members != nullptr) {
    for (const auto& [name, value] : *members) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

Result<JsonValue> parse_json(std::string_view text) { return Reader(text).document(); }

}  // namespace minfer
