// Methods and filters of strings.
#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

const std::string* optional_chars(const Args& args) {
  const Value* chars = args.find(0, "chars");
  return chars == nullptr || chars->is_none() ? nullptr : &need_text(*chars).bytes();
}

Value stripped(const Text& text, const Args& args, bool left, bool right) {
  const Stripped cut = strip(text.bytes(), optional_chars(args), left, right);
  return Value(text.sub(cut.begin, cut.end));
}

/// The part of the text between the arguments start and end, Python's places of a slice; `offset`:
/// where it begins, in characters. False where start is past the text's end.
struct Part {
  std::string_view bytes;
  std::int64_t offset = 0;
  bool inside = true;
};
Part part_of(const Text& text, const Args& args) {
  if (args.positional.size() < 2) return {text.bytes(), 0, true};
  const auto starts = char_starts(text.bytes());
  const auto n = static_cast<std::int64_t>(starts.size()) - 1;
  const auto place = [&](std::size_t index, std::int64_t otherwise) {
    const std::int64_t at = integer_or(args, index, "", otherwise);
    return at < 0 ? std::max<std::int64_t>(at + n, 0) : at;
  };
  const std::int64_t begin = place(1, 0);
  const std::int64_t end = std::min(place(2, n), n);
  if (begin > n || begin > end) return {{}, std::min(begin, n), false};
  const std::size_t first = starts[static_cast<std::size_t>(begin)];
  return {
      std::string_view(text.bytes()).substr(first, starts[static_cast<std::size_t>(end)] - first),
      begin, true};
}

/// Python's prefix or suffix, or tuple of them.
template <class Check>
Value any_of(const Args& args, Check check) {
  const Value& what = need(args, 0, "prefix");
  if (what.list() == nullptr) return Value(check(need_text(what).bytes()));
  const auto& items = what.list()->items;
  return Value(std::any_of(items.begin(), items.end(),
                           [&](const Value& v) { return check(need_text(v).bytes()); }));
}

template <class Check>
Value every_char(const Text& text, Check check) {
  const std::string& bytes = text.bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = decode_char(bytes, at);
    if (!check(c.code)) return Value(false);
    at += c.length;
  }
  return Value(!bytes.empty());
}

Value has_case(const Text& text, Case wanted) {
  const std::string& bytes = text.bytes();
  bool any = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = decode_char(bytes, at);
    const Case found = case_of(c.code);
    if (found != Case::kNone && found != wanted) return Value(false);
    any = any || found == wanted;
    at += c.length;
  }
  return Value(any);
}

/// The character position of the first or last match, or -1.
std::int64_t find_text(const Text& text, const Args& args, bool last) {
  const std::string& what = need_text(need(args, 0, "sub")).bytes();
  const Part part = part_of(text, args);
  const std::size_t at = last ? part.bytes.rfind(what) : part.bytes.find(what);
  if (at == std::string::npos || !part.inside) return -1;
  return part.offset + static_cast<std::int64_t>(char_starts(part.bytes.substr(0, at)).size()) - 1;
}

Value split_blanks(const Text& text, std::int64_t limit, bool right) {
  const std::string& bytes = text.bytes();
  std::vector<Value> parts;
  Stripped rest = strip(bytes, nullptr, true, true);
  while (rest.begin < rest.end) {
    const std::string_view view = std::string_view(bytes).substr(0, rest.end);
    if (limit >= 0 && static_cast<std::int64_t>(parts.size()) >= limit) {
      const Stripped cut = right ? Stripped{strip(bytes, nullptr, true, false).begin, rest.end}
                                 : Stripped{rest.begin, strip(bytes, nullptr, false, true).end};
      parts.emplace_back(text.sub(cut.begin, cut.end));
      break;
    }
    if (right) {
      std::size_t at = rest.end;
      const auto starts = char_starts(view.substr(rest.begin));
      for (std::size_t i = starts.size() - 1; i-- > 0;) {
        if (is_space(decode_char(view, rest.begin + starts[i]).code)) break;
        at = rest.begin + starts[i];
      }
      parts.emplace_back(text.sub(at, rest.end));
      rest.end =
          rest.begin + strip(view.substr(rest.begin, at - rest.begin), nullptr, false, true).end;
    } else {
      std::size_t at = rest.begin;
      while (at < rest.end && !is_space(decode_char(view, at).code))
        at += decode_char(view, at).length;
      parts.emplace_back(text.sub(rest.begin, at));
      rest.begin = at + strip(view.substr(at), nullptr, true, false).begin;
    }
  }
  if (right) std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Value split_at(Run& run, const Text& text, const Args& args, bool right) {
  const Value* separator = args.find(0, "sep");
  const std::int64_t limit = integer_or(args, 1, "maxsplit", -1);
  run.made_bytes(text.size());
  if (separator == nullptr || separator->is_none()) return split_blanks(text, limit, right);
  const std::string& sep = need_text(*separator).bytes();
  if (sep.empty()) fail("empty separator");
  const std::string& bytes = text.bytes();
  std::vector<Value> parts;
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
    run.step();
    if (right) {
      const std::size_t at =
          end < sep.size() ? std::string::npos : bytes.rfind(sep, end - sep.size());
      if (at == std::string::npos) break;
      parts.emplace_back(text.sub(at + sep.size(), end));
      end = at;
    } else {
      const std::size_t at = bytes.find(sep, begin);
      if (at == std::string::npos) break;
      parts.emplace_back(text.sub(begin, at));
      begin = at + sep.size();
    }
  }
  parts.emplace_back(text.sub(begin, end));
  if (right) std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Value partition(const Text& text, const Args& args, bool last) {
  const Text& sep = need_text(need(args, 0, "sep"));
  if (sep.size() == 0) fail("empty separator");
  const std::size_t at = last ? text.bytes().rfind(sep.bytes()) : text.bytes().find(sep.bytes());
  std::vector<Value> parts(3, Value(Text()));
  if (at == std::string::npos) {
    parts[last ? 2 : 0] = Value(text);
  } else {
    parts = {Value(text.sub(0, at)), Value(text.sub(at, at + sep.size())),
             Value(text.sub(at + sep.size(), text.size()))};
  }
  return Value::list(std::move(parts), true);
}

Text first_upper(const Text& text, bool every_word) {
  Text out;
  const auto starts = char_starts(text.bytes());
  bool inside = false;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const Char c = decode_char(text.bytes(), starts[i]);
    out.append(
        change_case(text.sub(starts[i], starts[i + 1]), inside ? Case::kLower : Case::kUpper));
    inside = !every_word || is_letter(c.code);
  }
  return out;
}

}  // namespace

Case case_of(char32_t code) {
  const auto c = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  if (c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LT) return Case::kUpper;
  return c == UTF8PROC_CATEGORY_LL ? Case::kLower : Case::kNone;
}

bool is_letter(char32_t code) {
  const auto c = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ND;
}

Text change_case(const Text& text, Case wanted) {
  Text out;
  const std::string& bytes = text.bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = decode_char(bytes, at);
    const auto code = static_cast<utf8proc_int32_t>(c.code);
    std::string changed;
    if (c.code == 0xDF && wanted == Case::kUpper) {
      changed = "SS";
    } else {
      append_utf8(changed, static_cast<char32_t>(wanted == Case::kUpper ? utf8proc_toupper(code)
                                                                        : utf8proc_tolower(code)));
    }
    out.append(changed, text.origin_at(at));
    at += c.length;
  }
  return out;
}

Text replace(Run& run, const Text& text, const Text& from, const Text& to, std::int64_t limit) {
  Text out;
  std::size_t begin = 0;
  const auto put = [&](const Text& part, std::size_t first, std::size_t last) {
    run.made_bytes(last - first);
    out.append(part, first, last);
    if (out.size() > (std::size_t{1} << 26)) fail("the template makes too long a text");
  };
  if (from.size() == 0) {
    const auto starts = char_starts(text.bytes());
    for (std::size_t i = 0; i < starts.size() && limit != 0; ++i, --limit) {
      put(to, 0, to.size());
      begin = i + 1 < starts.size() ? starts[i + 1] : text.size();
      put(text, starts[i], begin);
    }
  }
  while (limit != 0 && from.size() > 0) {
    const std::size_t at = text.bytes().find(from.bytes(), begin);
    if (at == std::string::npos) break;
    run.step();
    put(text, begin, at);
    put(to, 0, to.size());
    begin = at + from.size();
    --limit;
  }
  put(text, begin, text.size());
  return out;
}

Value filter_upper(Run& run, const Value& v, const Args&) {
  return Value(change_case(to_text(run, v), Case::kUpper));
}
Value filter_lower(Run& run, const Value& v, const Args&) {
  return Value(change_case(to_text(run, v), Case::kLower));
}
// jinja2's own idea of a word, unlike str.title's: it begins behind white space and - ( { [ <.
Value filter_title(Run& run, const Value& v, const Args&) {
  const Text text = to_text(run, v);
  const auto starts = char_starts(text.bytes());
  Text out;
  bool inside = false;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const char32_t code = decode_char(text.bytes(), starts[i]).code;
    out.append(
        change_case(text.sub(starts[i], starts[i + 1]), inside ? Case::kLower : Case::kUpper));
    inside =
        !is_space(code) && code != '-' && code != '(' && code != '{' && code != '[' && code != '<';
  }
  return Value(std::move(out));
}
Value method_title(Run&, const Value& v, const Args&) {
  return Value(first_upper(*v.text(), true));
}
Value filter_capitalize(Run& run, const Value& v, const Args&) {
  return Value(first_upper(to_text(run, v), false));
}
Value filter_trim(Run& run, const Value& v, const Args& a) {
  return stripped(to_text(run, v), a, true, true);
}
Value method_strip(Run&, const Value& v, const Args& a) {
  return stripped(*v.text(), a, true, true);
}
Value method_lstrip(Run&, const Value& v, const Args& a) {
  return stripped(*v.text(), a, true, false);
}
Value method_rstrip(Run&, const Value& v, const Args& a) {
  return stripped(*v.text(), a, false, true);
}
Value method_startswith(Run&, const Value& v, const Args& a) {
  const Part part = part_of(*v.text(), a);
  return any_of(a, [&](const std::string& p) { return part.inside && part.bytes.starts_with(p); });
}
Value method_endswith(Run&, const Value& v, const Args& a) {
  const Part part = part_of(*v.text(), a);
  return any_of(a, [&](const std::string& p) { return part.inside && part.bytes.ends_with(p); });
}
Value method_find(Run&, const Value& v, const Args& a) {
  return Value(find_text(*v.text(), a, false));
}
Value method_rfind(Run&, const Value& v, const Args& a) {
  return Value(find_text(*v.text(), a, true));
}
Value method_index(Run&, const Value& v, const Args& a) {
  const std::int64_t at = find_text(*v.text(), a, false);
  if (at < 0) fail("substring not found");
  return Value(at);
}
Value method_rindex(Run&, const Value& v, const Args& a) {
  const std::int64_t at = find_text(*v.text(), a, true);
  if (at < 0) fail("substring not found");
  return Value(at);
}
Value method_count(Run&, const Value& v, const Args& a) {
  const std::string& what = need_text(need(a, 0, "sub")).bytes();
  const Part part = part_of(*v.text(), a);
  const std::string_view bytes = part.bytes;
  if (!part.inside) return Value(std::int64_t{0});
  if (what.empty()) return Value(static_cast<std::int64_t>(char_starts(bytes).size()));
  std::int64_t n = 0;
  for (std::size_t at = bytes.find(what); at != std::string::npos;
       at = bytes.find(what, at + what.size()))
    ++n;
  return Value(n);
}
Value method_split(Run& run, const Value& v, const Args& a) {
  return split_at(run, *v.text(), a, false);
}
Value method_rsplit(Run& run, const Value& v, const Args& a) {
  return split_at(run, *v.text(), a, true);
}
Value method_splitlines(Run&, const Value& v, const Args& a) {
  const Text& text = *v.text();
  const std::string& bytes = text.bytes();
  const bool keep = flag_or(a, 0, "keepends", false);
  std::vector<Value> lines;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t at =
        std::min(bytes.find_first_of("\n\r\v\f\x1c\x1d\x1e", begin), bytes.size());
    const std::size_t n = at == bytes.size() ? 0 : bytes.compare(at, 2, "\r\n") == 0 ? 2 : 1;
    lines.emplace_back(text.sub(begin, keep ? at + n : at));
    begin = at + n;
  }
  return Value::list(std::move(lines));
}
Value method_partition(Run&, const Value& v, const Args& a) {
  return partition(*v.text(), a, false);
}
Value method_rpartition(Run&, const Value& v, const Args& a) {
  return partition(*v.text(), a, true);
}
Value method_removeprefix(Run&, const Value& v, const Args& a) {
  const Text& p = need_text(need(a, 0, "prefix"));
  const Text& text = *v.text();
  return text.bytes().starts_with(p.bytes()) ? Value(text.sub(p.size(), text.size())) : v;
}
Value method_removesuffix(Run&, const Value& v, const Args& a) {
  const Text& s = need_text(need(a, 0, "suffix"));
  const Text& text = *v.text();
  return text.bytes().ends_with(s.bytes()) ? Value(text.sub(0, text.size() - s.size())) : v;
}
Value method_replace(Run& run, const Value& v, const Args& a) {
  return Value(replace(run, *v.text(), need_text(need(a, 0, "old")), need_text(need(a, 1, "new")),
                       integer_or(a, 2, "count", -1)));
}
Value filter_replace(Run& run, const Value& v, const Args& a) {
  return Value(replace(run, to_text(run, v), to_text(run, need(a, 0, "old")),
                       to_text(run, need(a, 1, "new")), integer_or(a, 2, "count", -1)));
}
Value method_join(Run& run, const Value& v, const Args& a) {
  Text out;
  bool first = true;
  for (const Value& item : iterate(need(a, 0, "iterable"))) {
    run.step();
    if (!first) out.append(*v.text());
    first = false;
    out.append(need_text(item));
    run.made_bytes(out.size() / 8);
  }
  return Value(std::move(out));
}
Value method_zfill(Run& run, const Value& v, const Args& a) {
  const std::int64_t wide = integer_or(a, 0, "width", 0);
  const auto n = static_cast<std::int64_t>(char_starts(v.text()->bytes()).size()) - 1;
  if (wide <= n) return v;
  run.made_bytes(static_cast<std::size_t>(wide));
  const std::string& bytes = v.text()->bytes();
  const std::size_t sign = !bytes.empty() && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0;
  Text out = v.text()->sub(0, sign);
  out.append(std::string(static_cast<std::size_t>(wide - n), '0'), Origin::kRequest);
  out.append(*v.text(), sign, bytes.size());
  return Value(std::move(out));
}
Value method_isspace(Run&, const Value& v, const Args&) { return every_char(*v.text(), is_space); }
Value method_isalpha(Run&, const Value& v, const Args&) { return every_char(*v.text(), is_letter); }
Value method_isdigit(Run&, const Value& v, const Args&) {
  return every_char(*v.text(), is_decimal);
}
Value method_isalnum(Run&, const Value& v, const Args&) {
  return every_char(*v.text(), [](char32_t c) { return is_letter(c) || is_decimal(c); });
}
Value method_isupper(Run&, const Value& v, const Args&) {
  return has_case(*v.text(), Case::kUpper);
}
Value method_islower(Run&, const Value& v, const Args&) {
  return has_case(*v.text(), Case::kLower);
}
bool test_upper(Run& run, const Value& v, const Args&) {
  return has_case(to_text(run, v), Case::kUpper).truth();
}
bool test_lower(Run& run, const Value& v, const Args&) {
  return has_case(to_text(run, v), Case::kLower).truth();
}

Value filter_string(Run& run, const Value& v, const Args&) { return Value(to_text(run, v)); }

Value filter_safe(Run& run, const Value& v, const Args&) {
  Text text = to_text(run, v);
  text.markup = true;
  return Value(std::move(text));
}

Text escaped(const Text& text) {
  if (text.markup) return text;
  Text out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    static constexpr std::string_view kFrom = "&<>'\"";
    static constexpr std::string_view kTo[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const std::size_t i = kFrom.find(text.bytes()[at]);
    if (i == std::string_view::npos) {
      out.append(text, at, at + 1);
    } else {
      out.append(kTo[i], Origin::kRequest);
    }
  }
  out.markup = true;
  return out;
}

Text joined(const Text& a, const Text& b) {
  const bool markup = a.markup || b.markup;
  Text out = markup ? escaped(a) : a;
  out.append(markup ? escaped(b) : b);
  return out;
}

Value filter_forceescape(Run& run, const Value& v, const Args&) {
  Text text = to_text(run, v);
  text.markup = false;
  Text out = escaped(text);
  run.made_bytes(out.size());
  return Value(std::move(out));
}

Value filter_escape(Run& run, const Value& v, const Args&) {
  Text out = escaped(to_text(run, v));
  run.made_bytes(out.size());
  return Value(std::move(out));
}

Value filter_indent(Run& run, const Value& v, const Args& a) {
  const Value* width = a.find(0, "width");
  Text blanks(std::string(4, ' '), Origin::kTemplate);
  if (width != nullptr && width->text() != nullptr) {
    blanks = *width->text();
  } else if (width != nullptr) {
    const std::int64_t n = std::max<std::int64_t>(integer_or(a, 0, "width", 4), 0);
    blanks = pad_by(run, Text(), n, 0, Text(" ", Origin::kTemplate));
  }
  const bool first = flag_or(a, 1, "first", false);
  const bool blank = flag_or(a, 2, "blank", false);
  const Text& text = need_text(v);
  Text out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t line_end = std::min(text.bytes().find('\n', begin), text.size());
    if (begin == 0 ? first : (blank || line_end > begin)) out.append(blanks);
    const std::size_t next = std::min(line_end + 1, text.size());
    out.append(text, begin, next);
    run.made_bytes(blanks.size() + next - begin);
    begin = line_end + 1;
  }
  return Value(std::move(out));
}

}  // namespace minfer::chat
