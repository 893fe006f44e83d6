#include "chat/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.h"
#include "base/utf8.h"
#include "chat/text.h"

namespace minfer::chat {
namespace {

constexpr std::array<std::string_view, 28> kOperators = {
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "(", ")",
    "[",  "]",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!", "?"};

bool is_name_char(char c, bool first) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0 ||
         (!first && c >= '0' && c <= '9');
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string with_plain_line_breaks(std::string_view source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(with_plain_line_breaks(source)) {}

  Result<std::vector<Token>> run() {
    while (error_.ok() && at_ < source_.size()) {
      const std::size_t open = next_opening(at_);
      const std::size_t data_begin = at_;
      if (open == std::string::npos) {
        add_data(data_begin, source_.size());
        at_ = source_.size();
        break;
      }
      const char kind = source_[open + 1];
      std::size_t data_end = open;
      const char mark = open + 2 < source_.size() ? source_[open + 2] : '\0';
      if (mark == '-') {
        data_end = data_begin +
                   strip(view().substr(data_begin, open - data_begin), nullptr, false, true).end;
      } else if (mark != '+' && kind != '{') {
        data_end = without_indent(data_begin, open);
      }
      add_data(data_begin, data_end);
      at_ = open + 2 + (mark == '-' || mark == '+' ? 1 : 0);
      if (kind == '#') {
        comment(open);
      } else if (kind == '%' && raw(open)) {
        continue;
      } else {
        tag(open, kind == '%');
      }
    }
    if (!error_.ok()) return error_;
    add(TokenKind::kEnd, "", source_.size());
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view view() const { return source_; }

  Position position(std::size_t at) {
    for (; position_at_ < at; ++position_at_) {
      if (source_[position_at_] == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((static_cast<unsigned char>(source_[position_at_]) & 0xC0) != 0x80) {
        ++position_.column;  // a character
      }
    }
    return position_;
  }
  void add(TokenKind kind, std::string text, std::size_t at) {
    tokens_.push_back({kind, std::move(text), position(at)});
  }
  void add_data(std::size_t begin, std::size_t end) {
    if (begin < end) add(TokenKind::kData, source_.substr(begin, end - begin), begin);
  }
  void fail_at(std::size_t at, std::string_view what) {
    if (error_.ok()) error_ = template_status(position(std::max(at, position_at_)), what);
    at_ = source_.size();
  }

  [[nodiscard]] std::size_t next_opening(std::size_t from) const {
    for (std::size_t at = source_.find('{', from); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() &&
          std::string_view("{%#").find(source_[at + 1]) != std::string::npos)
        return at;
    }
    return std::string::npos;
  }

  // lstrip_blocks: blanks between the start of the line and the tag go.
  [[nodiscard]] std::size_t without_indent(std::size_t begin, std::size_t open) const {
    std::size_t at = open;
    while (at > begin && source_[at - 1] != '\n' &&
           is_space(static_cast<unsigned char>(source_[at - 1])))
      --at;
    return at == 0 || source_[at - 1] == '\n' ? at : open;
  }

  // After a tag that ends at `end`: what `-` and trim_blocks take away.
  void close(std::size_t end, bool minus, bool trims) {
    at_ = end;
    if (minus) {
      at_ += strip(view().substr(end), nullptr, true, false).begin;
    } else if (trims && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
  }

  void comment(std::size_t open) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) return fail_at(open, "the comment does not end");
    const bool minus = end > at_ && source_[end - 1] == '-';
    close(end + 2, minus, !(end > at_ && source_[end - 1] == '+'));
  }

  // {% raw %}...{% endraw %}: true where the tag at `open` is one.
  bool raw(std::size_t open) {
    std::size_t at = at_;
    const auto word = [&](std::string_view w) {
      while (at < source_.size() && is_space(static_cast<unsigned char>(source_[at]))) ++at;
      if (view().substr(at, w.size()) != w) return false;
      at += w.size();
      return true;
    };
    if (!word("raw")) return false;
    const bool minus = word("-");
    if (!word("%}")) return false;
    close(at, minus, true);
    const std::size_t begin = at_;
    for (std::size_t tag = source_.find("{%", begin); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      at = tag + 2;
      const bool strips = word("-");
      if (!strips) word("+");
      if (!word("endraw")) continue;
      const bool end_minus = word("-");
      if (!word("%}")) continue;
      const std::size_t end =
          strips ? begin + strip(view().substr(begin, tag - begin), nullptr, false, true).end
                 : without_indent(begin, tag);
      add_data(begin, end);
      close(at, end_minus, true);
      return true;
    }
    fail_at(open, "raw without endraw");
    return true;
  }

  void tag(std::size_t open, bool block) {
    add(block ? TokenKind::kBlockBegin : TokenKind::kOutputBegin, "", open);
    const std::string_view end = block ? "%}" : "}}";
    int nesting = 0;
    while (true) {
      while (at_ < source_.size() && is_space(static_cast<unsigned char>(source_[at_]))) ++at_;
      if (at_ >= source_.size()) return fail_at(open, "the tag does not end");
      const std::string_view rest = view().substr(at_);
      const char sign = rest[0];
      const bool signed_end = (sign == '-' || (block && sign == '+')) && rest.substr(1, 2) == end;
      if (nesting == 0 && (signed_end || rest.substr(0, 2) == end)) {
        add(block ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, "", at_);
        close(at_ + (signed_end ? 3 : 2), signed_end && sign == '-', block && !signed_end);
        return;
      }
      if (!token(nesting)) return;
    }
  }

  bool token(int& nesting) {
    const char c = source_[at_];
    const std::size_t begin = at_;
    if (c == '"' || c == '\'') return string(c);
    if (is_digit(c)) return number();
    if (is_name_char(c, true)) {
      while (at_ < source_.size() && is_name_char(source_[at_], false)) ++at_;
      add(TokenKind::kName, source_.substr(begin, at_ - begin), begin);
      return true;
    }
    for (const std::string_view op : kOperators) {
      if (view().substr(at_, op.size()) != op) continue;
      if (op == "(" || op == "[" || op == "{") ++nesting;
      if (op == ")" || op == "]" || op == "}") --nesting;
      if (nesting < 0) break;
      add(TokenKind::kOperator, std::string(op), at_);
      at_ += op.size();
      return true;
    }
    fail_at(at_, fmt::format("unexpected \"{}\"", printable(view().substr(at_, 1))));
    return false;
  }

  bool number() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      while (at_ < source_.size() && (is_digit(source_[at_]) || source_[at_] == '_')) ++at_;
    };
    digits();
    bool fraction = false;
    if (at_ + 1 < source_.size() && source_[at_] == '.' && is_digit(source_[at_ + 1])) {
      fraction = true;
      ++at_;
      digits();
    }
    if (at_ < source_.size() && (source_[at_] == 'e' || source_[at_] == 'E')) {
      std::size_t at = at_ + 1;
      if (at < source_.size() && (source_[at] == '+' || source_[at] == '-')) ++at;
      if (at < source_.size() && is_digit(source_[at])) {
        fraction = true;
        at_ = at;
        digits();
      }
    }
    std::string text = source_.substr(begin, at_ - begin);
    std::erase(text, '_');
    add(fraction ? TokenKind::kFloat : TokenKind::kInteger, std::move(text), begin);
    return true;
  }

  bool string(char quote) {
    const std::size_t begin = at_++;
    std::string text;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] != '\\') {
        text += source_[at_++];
      } else if (++at_ < source_.size()) {
        escape(text);
      }
    }
    if (at_ >= source_.size()) {
      fail_at(begin, "the string does not end");
      return false;
    }
    ++at_;
    add(TokenKind::kString, std::move(text), begin);
    return true;
  }

  void escape(std::string& text) {
    const char c = source_[at_++];
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    const std::size_t width = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      text += kTo[i];
    } else if (c == '\n') {
    } else if (width > 0) {
      std::uint32_t code = 0;
      const std::string_view digits = view().substr(at_, width);
      const auto [rest, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (error != std::errc() || rest != digits.data() + width || code > 0x10FFFF)
        return fail_at(at_, "wrong escape in a string");
      append_utf8(text, code >= 0xD800 && code < 0xE000 ? kReplacement : code);
      at_ += width;
    } else if (c >= '0' && c <= '7') {
      std::uint32_t code = static_cast<std::uint32_t>(c - '0');
      for (int n = 0; n < 2 && at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '7';
           ++n)
        code = code * 8 + static_cast<std::uint32_t>(source_[at_++] - '0');
      append_utf8(text, code);
    } else {
      text += '\\';
      text += c;
    }
  }

  std::string source_;
  std::size_t at_ = 0;
  std::size_t position_at_ = 0;
  Position position_;
  std::vector<Token> tokens_;
  Status error_;
};

}  // namespace

Status template_status(Position at, std::string_view what) {
  return unsupported(fmt::format("chat template, line {}, column {}: {}", at.line, at.column,
                                 printable(what, 400)));
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  Position at;
  for (std::size_t i = 0; i < source.size();) {
    const Char c = decode_char(source, i);
    if (!c.well_formed) {
      return template_status(
          at, fmt::format("the byte 0x{:02X} is no UTF-8", static_cast<unsigned char>(source[i])));
    }
    i += c.length;
    const bool line_end = c.code == '\n';
    at = line_end ? Position{at.line + 1, 1} : Position{at.line, at.column + 1};
  }
  return Lexer(source).run();
}

}  // namespace minfer::chat
