// tojson: Python's json.dumps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>

#include "base/utf8.h"
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

struct Style {
  bool ascii = false;
  bool sort_keys = false;
  bool lines = false;  // a line an item
  Text indent;         // of one level
  Text item_separator;
  Text key_separator;
};

class Writer {
 public:
  Writer(Run& run, const Style& style) : run_(run), style_(style) {}

  void value(const Value& v, int depth) {
    run_.step();
    if (v.text() != nullptr) return string(*v.text());
    if (v.list() != nullptr) return list(*v.list(), depth);
    if (v.dict() != nullptr) return dict(*v.dict(), depth);
    if (v.is_none()) return put("null");
    if (const auto* b = v.as<bool>()) return put(*b ? "true" : "false");
    if (const auto* d = v.as<double>(); d != nullptr && !std::isfinite(*d))
      return put(std::isnan(*d) ? "NaN" : *d < 0 ? "-Infinity" : "Infinity");
    if (v.is_undefined() || v.object() != nullptr)
      fail(fmt::format("Object of type {} is not JSON serializable", v.type_name()));
    out.append(v.str());
  }

  Text out;

 private:
  void put(std::string_view s) { out.append(s, Origin::kRequest); }

  void line(int depth) {
    if (!style_.lines) return;
    put("\n");
    run_.made_bytes(style_.indent.size() * static_cast<std::size_t>(depth));
    out.append_times(style_.indent, static_cast<std::size_t>(depth));
  }

  void string(const Text& text) {
    const std::string& bytes = text.bytes();
    run_.made_bytes(bytes.size());
    put("\"");
    for (std::size_t at = 0; at < bytes.size();) {
      const Char c = decode_char(bytes, at);
      static constexpr std::string_view kFrom = "\"\\\n\r\t\b\f";
      static constexpr std::string_view kTo = "\"\\nrtbf";
      const std::size_t i = c.code < 0x80 ? kFrom.find(bytes[at]) : std::string_view::npos;
      if (i != std::string_view::npos) {
        put(std::string{'\\', kTo[i]});
      } else if (c.code < 0x20 || (style_.ascii && c.code > 0x7E)) {
        unit(c.code);
      } else {
        out.append(text, at, at + c.length);
      }
      at += c.length;
    }
    put("\"");
  }

  void unit(char32_t code) {
    const auto wide = static_cast<std::uint32_t>(code);
    if (wide < 0x10000) return put(fmt::format("\\u{:04x}", wide));
    put(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((wide - 0x10000) >> 10),
                    0xDC00 + ((wide - 0x10000) & 0x3FF)));
  }

  void list(const List& items, int depth) {
    if (items.items.empty()) return put("[]");
    put("[");
    for (std::size_t i = 0; i < items.items.size(); ++i) {
      if (i > 0) out.append(style_.item_separator);
      line(depth + 1);
      value(items.items[i], depth + 1);
    }
    line(depth);
    put("]");
  }

  void dict(const Dict& dict, int depth) {
    if (dict.items().empty()) return put("{}");
    auto items = dict.items();
    if (style_.sort_keys) {
      std::list<std::pair<Value, Value>> sorted(items.begin(), items.end());
      sorted.sort([](const auto& a, const auto& b) { return less(a.first, b.first); });
      items.assign(sorted.begin(), sorted.end());
    }
    put("{");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out.append(style_.item_separator);
      line(depth + 1);
      key(items[i].first);
      out.append(style_.key_separator);
      value(items[i].second, depth + 1);
    }
    line(depth);
    put("}");
  }

  void key(const Value& v) {
    if (v.text() != nullptr) return string(*v.text());
    if (v.list() != nullptr) fail("keys must be str, int, float, bool or None, not tuple");
    put("\"");
    value(v, 0);
    put("\"");
  }

  Run& run_;
  const Style& style_;
};

}  // namespace

Value filter_tojson(Run& run, const Value& v, const Args& a) {
  // The signature of the transformers library: ensure_ascii, indent, separators, sort_keys.
  Style style;
  style.ascii = flag_or(a, 0, "ensure_ascii", false);
  if (const Value* indent = a.find(1, "indent"); indent != nullptr && !indent->is_none()) {
    style.lines = true;
    style.indent = indent->text() != nullptr ? *indent->text()
                                             : pad_by(run, Text(), integer_or(a, 1, "indent", 0), 0,
                                                      Text(" ", Origin::kRequest));
  }
  style.sort_keys = flag_or(a, 3, "sort_keys", false);
  style.item_separator = Text(style.lines ? "," : ", ", Origin::kRequest);
  style.key_separator = Text(": ", Origin::kRequest);
  if (const Value* separators = a.find(2, "separators");
      separators != nullptr && !separators->is_none()) {
    const std::vector<Value> both = iterate(*separators);
    if (both.size() != 2) fail("separators must be two");
    style.item_separator = need_text(both[0]);
    style.key_separator = need_text(both[1]);
  }
  Writer writer(run, style);
  writer.value(v, 0);
  run.made_bytes(writer.out.size());
  return Value(std::move(writer.out));
}

}  // namespace minfer::chat
