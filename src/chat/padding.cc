// Filters and methods that bring a text to a width, or count in it.
#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

std::int64_t length_of(const Text& text) {
  return static_cast<std::int64_t>(char_starts(text.bytes()).size()) - 1;
}

Text first_chars(const Text& text, std::int64_t n) {
  const auto starts = char_starts(text.bytes());
  const auto end = n < 0
                       ? std::max<std::int64_t>(static_cast<std::int64_t>(starts.size()) - 1 + n, 0)
                       : std::min<std::int64_t>(n, static_cast<std::int64_t>(starts.size()) - 1);
  return text.sub(0, starts[static_cast<std::size_t>(end)]);
}

bool is_word_char(char32_t code) {
  const auto c = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return code == '_' || is_letter(code) || c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL ||
         c == UTF8PROC_CATEGORY_NO;
}

Text fill_char(const Args& args) {
  const Value* given = args.find(1, "fillchar");
  if (given == nullptr) return Text(" ", Origin::kRequest);
  if (length_of(need_text(*given)) != 1)
    fail("the fill character must be exactly one character long");
  return *given->text();
}

std::int64_t need_width(const Args& args) {
  std::int64_t width = 0;
  if (!need(args, 0, "width").integer(width)) fail("the argument 'width' must be an integer");
  return width;
}

/// Python's str.center: of an odd rest, the left side gets more where the width is odd.
Text centered(Run& run, const Text& text, std::int64_t width, const Text& fill) {
  const std::int64_t rest = std::max<std::int64_t>(width - length_of(text), 0);
  const std::int64_t left = rest / 2 + (rest & width & 1);
  return pad_by(run, text, left, rest - left, fill);
}

}  // namespace

Text pad_by(Run& run, const Text& text, std::int64_t left, std::int64_t right, const Text& fill) {
  if (left <= 0 && right <= 0) return text;
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  if (left > kMost || right > kMost) fail("the template makes too long a text");
  run.made_bytes(
      static_cast<std::size_t>(std::max<std::int64_t>(left, 0) + std::max<std::int64_t>(right, 0)) *
          fill.size() +
      text.size());
  Text out;
  out.append_times(fill, static_cast<std::size_t>(std::max<std::int64_t>(left, 0)));
  out.append(text);
  out.append_times(fill, static_cast<std::size_t>(std::max<std::int64_t>(right, 0)));
  return out;
}

Text pad(Run& run, const Text& text, std::int64_t width, bool left) {
  const std::int64_t rest = width - length_of(text);
  const Text blank(" ", Origin::kRequest);
  return left ? pad_by(run, text, rest, 0, blank) : pad_by(run, text, 0, rest, blank);
}

Value filter_center(Run& run, const Value& v, const Args& a) {
  return Value(
      centered(run, to_text(run, v), integer_or(a, 0, "width", 80), Text(" ", Origin::kRequest)));
}
Value method_center(Run& run, const Value& v, const Args& a) {
  return Value(centered(run, *v.text(), need_width(a), fill_char(a)));
}
Value method_ljust(Run& run, const Value& v, const Args& a) {
  return Value(pad_by(run, *v.text(), 0, need_width(a) - length_of(*v.text()), fill_char(a)));
}
Value method_rjust(Run& run, const Value& v, const Args& a) {
  return Value(pad_by(run, *v.text(), need_width(a) - length_of(*v.text()), 0, fill_char(a)));
}

Value filter_truncate(Run& run, const Value& v, const Args& a) {
  const std::int64_t length = integer_or(a, 0, "length", 255);
  const bool kill_words = flag_or(a, 1, "killwords", false);
  const Value* given = a.find(2, "end");
  const Text end = given != nullptr ? need_text(*given) : Text("...", Origin::kRequest);
  const std::int64_t leeway = integer_or(a, 3, "leeway", 5);
  if (length < length_of(end)) fail("truncate: the length is less than the end's");
  if (leeway < 0) fail("truncate: the leeway is negative");
  std::int64_t n = 0;
  if (filter_length(run, v, {}).integer(n) && n - leeway <= length) return v;
  const Text& text = need_text(v);
  Text out = first_chars(text, length - length_of(end));
  const std::size_t blank = out.bytes().rfind(' ');
  if (!kill_words && blank != std::string::npos) out = out.sub(0, blank);
  out.append(end);
  return Value(std::move(out));
}

Value filter_wordcount(Run& run, const Value& v, const Args&) {
  const Text text = to_text(run, v);
  const std::string& bytes = text.bytes();
  std::int64_t n = 0;
  bool inside = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = decode_char(bytes, at);
    const bool word = is_word_char(c.code);
    if (word && !inside) ++n;
    inside = word;
    at += c.length;
  }
  return Value(n);
}

}  // namespace minfer::chat
