#include "tests/sampling/json_schema_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"

namespace minfer::sampling {
namespace {

using Ranks = std::map<std::string, std::pair<int, int>>;

// Ranks of the names in a schema, in reading order: declared ones before those only named.
void collect(const JsonValue& value, Ranks& ranks, std::string_view under) {
  const auto add = [&](const std::string& name, int kind) {
    const std::pair<int, int> rank{kind, static_cast<int>(ranks.size())};
    const auto [place, fresh] = ranks.emplace(name, rank);
    if (!fresh && kind < place->second.first) place->second = rank;
  };
  if (const auto* items = value.array(); items != nullptr) {
    for (const JsonValue& item : *items) {
      if (under == "required" && item.string() != nullptr) add(*item.string(), 1);
      collect(item, ranks, under == "enum" ? "const" : under == "required" ? under : "");
    }
  }
  if (value.object() == nullptr) return;
  for (const auto& [key, member] : *value.object()) {
    if (under == "properties" || under == "const") add(key, 0);
    if (under == "dependencies" || under == "dependentRequired") {
      add(key, 1);
      collect(member, ranks, "required");
      continue;
    }
    collect(member, ranks, under == "properties" ? "" : key);
  }
}

struct Style {
  std::string after_colon = " ";
  std::string after_comma = " ";
  std::string blank;
  bool escape_all = false;
  bool reversed = false;
  std::string number_tail;
};

std::string write_string(const std::string& text, bool escape_all) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode_char(text, i);
    i += c.length;
    static constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
    static constexpr std::string_view kTo = "\"\\bfnrt";
    const std::size_t named =
        c.code < 0x80 ? kFrom.find(static_cast<char>(c.code)) : std::string::npos;
    const auto code = static_cast<std::uint32_t>(c.code);
    if (escape_all && code > 0xFFFF) {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    } else if (escape_all || (code < 0x20 && named == std::string::npos)) {
      out += fmt::format("\\u{:04x}", code);
    } else if (named != std::string::npos) {
      out += std::string("\\") + kTo[named];
    } else {
      append_utf8(out, c.code);
    }
  }
  return out + "\"";
}

std::string write(const JsonValue& value, const Ranks& ranks, const Style& style) {
  if (value.is_null()) return "null";
  if (const bool* truth = std::get_if<bool>(&value.data)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value.data))
    return fmt::format("{}{}", *number, style.number_tail);
  if (std::holds_alternative<double>(value.data)) return value.spelling;
  if (value.string() != nullptr) return write_string(*value.string(), style.escape_all);
  if (const auto* items = value.array(); items != nullptr) {
    std::string out = "[" + style.blank;
    for (const JsonValue& item : *items) {
      if (&item != items->data()) out += "," + style.after_comma;
      out += write(item, ranks, style);
    }
    return out + style.blank + "]";
  }
  std::vector<const std::pair<std::string, JsonValue>*> members;
  for (const auto& member : *value.object()) members.push_back(&member);
  const auto rank = [&](const auto* member) {
    const auto known = ranks.find(member->first);
    return std::pair{known == ranks.end() ? std::pair<int, int>{2, 0} : known->second, member};
  };
  // Members without a rank stay as they are: pointers into one vector tell their order.
  std::sort(members.begin(), members.end(),
            [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  if (style.reversed) std::reverse(members.begin(), members.end());
  std::string out = "{" + style.blank;
  for (const auto* member : members) {
    if (member != members.front()) out += "," + style.after_comma;
    out += write_string(member->first, style.escape_all) + ":" + style.after_colon +
           write(member->second, ranks, style);
  }
  return out + style.blank + "}";
}

}  // namespace

std::string canonical_json(const JsonValue& schema, const JsonValue& value) {
  Ranks ranks;
  collect(schema, ranks, "");
  return write(value, ranks, {});
}

std::vector<std::string> other_spellings(const JsonValue& schema, const JsonValue& value) {
  Ranks ranks;
  collect(schema, ranks, "");
  std::vector<std::string> out;
  Style style;
  style.reversed = true;
  out.push_back(write(value, ranks, style));
  style.after_colon = style.after_comma = "";
  out.push_back(write(value, ranks, style));
  style = {};
  style.after_colon = style.after_comma = "";
  out.push_back(write(value, ranks, style));
  style = {};
  style.escape_all = true;
  out.push_back(write(value, ranks, style));
  style = {};
  style.blank = "\n";
  out.push_back(write(value, ranks, style));
  for (const char* tail : {".0", ".00", "e0", "E+00", "0e-1"}) {
    style = {};
    style.number_tail = tail;
    out.push_back(write(value, ranks, style));
  }
  return out;
}

}  // namespace minfer::sampling
