#include "chat/reply_parameter.h"

#include <optional>

#include "chat/reply_marks.h"
#include "chat/reply_value.h"

namespace minfer::chat {
namespace {

constexpr int kMaxNesting = 32;

std::optional<std::string> whole_value(std::string_view text, ValueNotation notation) {
  ValueReader reader(notation, "", false);
  std::string out;
  std::size_t used = 0;
  auto state = reader.read(text, used, out);
  if (state == ValueReader::State::kMore) state = reader.finish(out);
  if (state != ValueReader::State::kDone || !is_blank(text.substr(used))) return std::nullopt;
  return out;
}

std::string scalar(std::string_view text) {
  if (auto json = whole_value(text, ValueNotation::kJson)) return *json;
  if (auto python = whole_value(text, ValueNotation::kPython)) return *python;
  return json_quoted(text);
}

// begin TAG value_begin ... end(TAG), any number of them: an array where each tag is "item", an
// object otherwise. The depth is bounded.
std::optional<std::string> elements(const CallFormat& format, std::string_view text, int depth) {
  const std::string_view begin = trimmed(format.parameter_begin);
  const std::string_view open = trimmed(format.value_marks.front().begin);
  std::string out;
  bool is_list = true;
  text = trimmed(text);
  if (depth > kMaxNesting || open.empty() || !text.starts_with(begin)) return std::nullopt;
  while (!text.empty()) {
    if (!text.starts_with(begin)) return std::nullopt;
    text.remove_prefix(begin.size());
    const std::size_t tag_end = text.find(open);
    if (tag_end == std::string_view::npos) return std::nullopt;
    const std::string tag(text.substr(0, tag_end));
    text.remove_prefix(tag_end + open.size());
    const std::string close = parameter_end_mark(format, tag);
    // Elements of the same tag may stand inside: the end that balances the begins.
    const std::string again = std::string(begin) + tag + std::string(open);
    std::size_t at = 0;
    for (int inside = 1; inside > 0;) {
      const std::size_t end = text.find(close, at);
      if (end == std::string_view::npos) return std::nullopt;
      const std::size_t nested = text.substr(0, end).find(again, at);
      inside += nested < end ? 1 : -1;
      at = nested < end ? nested + again.size() : end + close.size();
    }
    const std::string_view inner = text.substr(0, at - close.size());
    const auto nested = elements(format, inner, depth + 1);
    is_list = is_list && tag == "item";
    out += out.empty() ? "" : ", ";
    out += '\x01' + json_quoted(tag) + ": \x01" + (nested ? *nested : scalar(inner));
    text = trimmed(text.substr(at));
  }
  // Tags stand between \x01; a list goes without them.
  std::string joined;
  bool in_tag = false;
  for (const char c : out) {
    if (c == '\x01') {
      in_tag = !in_tag;
    } else if (!in_tag || !is_list) {
      joined += c;
    }
  }
  return is_list ? "[" + joined + "]" : "{" + joined + "}";
}

}  // namespace

std::string parameter_end_mark(const CallFormat& format, std::string_view key) {
  std::string mark(trimmed(format.parameter_end));
  if (const std::size_t hole = mark.find(kKeyHole); hole != std::string::npos)
    mark.replace(hole, 1, key);
  return mark;
}

std::string parameter_json(const CallFormat& format, std::string_view text, const Tool* tool,
                           std::string_view key) {
  if (parameter_kind(tool, key) == ParameterKind::kText) return json_quoted(text);
  if (format.parameter_end.find(kKeyHole) != std::string::npos) {
    if (auto nested = elements(format, text, 0)) return *nested;
  }
  return scalar(text);
}

}  // namespace minfer::chat
