#include "chat/tool_rules.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace minfer::chat {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// One character inside a class.
std::string class_char(std::string_view character) {
  static constexpr std::string_view kSpecial = "[]^-";
  if (character.size() == 1 && kSpecial.find(character[0]) != std::string_view::npos)
    return "\\" + std::string(character);
  return escaped(character);
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = decode_char(text, at).length;
    out.emplace_back(text.substr(at, n));
    at += n;
  }
  return out;
}

}  // namespace

std::string gbnf_string(std::string_view text) { return "\"" + escaped(text) + "\""; }

std::string mark_symbols(std::string_view text, const FindControl& find_control) {
  std::string out;
  while (!text.empty()) {
    const auto control = find_control ? find_control(text) : std::nullopt;
    const std::string_view plain = control ? text.substr(0, control->at) : text;
    if (!plain.empty()) out += " " + gbnf_string(plain);
    if (!control || control->ends_turn) break;
    out += fmt::format(" <[{}]>", control->id);
    text.remove_prefix(control->at + control->size);
  }
  return out;
}

// The states of a search for `end`: after its first i characters. A character that breaks the
// search off and is its first one begins another; no other character of an end mark can.
std::string text_rules(const std::string& rule, std::string_view end,
                       const FindControl& find_control) {
  const auto control = find_control ? find_control(end) : std::nullopt;
  if (end.empty() || (control && control->at == 0)) return rule + " ::= .*\n";
  if (control) end = end.substr(0, control->at);
  const std::vector<std::string> chars = characters(end);
  const std::string first = class_char(chars[0]);
  if (chars.size() == 1) return fmt::format("{} ::= [^{}]*\n", rule, first);
  const auto state = [&](std::size_t i) { return fmt::format("{}-{}", rule, i); };
  std::string out =
      fmt::format("{} ::= ([^{}] | {} {})*\n", rule, first, gbnf_string(chars[0]), state(1));
  for (std::size_t i = 1; i < chars.size(); ++i) {
    const bool same = chars[i] == chars[0];
    out += fmt::format("{} ::= [^{}{}]", state(i), first, same ? "" : class_char(chars[i]));
    if (!same) out += fmt::format(" | {} {}", gbnf_string(chars[0]), state(1));
    if (i + 1 < chars.size()) out += fmt::format(" | {} {}", gbnf_string(chars[i]), state(i + 1));
    out += "\n";
  }
  return out;
}

}  // namespace minfer::chat
