#include "chat/reply_shapes.h"

#include <algorithm>
#include <charconv>

#include "chat/reply_marks.h"
#include "chat/reply_probe.h"
#include "chat/reply_value.h"

namespace minfer::chat {
namespace {

// A call found in a text: [begin, end) is what the shape itself writes, marks outside of it.
struct Found {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string middle;  // between name and arguments
};

std::string text_of(const JsonValue* value) {
  return value != nullptr && value->string() != nullptr ? *value->string() : std::string();
}

// Whether these are the arguments of a probe: an object with the key, or that object as a text.
bool is_arguments(const JsonValue& value) {
  if (const std::string* text = value.string()) {
    const auto inner = parse_json(*text);
    return inner.ok() && inner->find(word::kKey) != nullptr;
  }
  return value.find(word::kKey) != nullptr;
}

// The value at text[at..] in a notation; nothing where there is none.
std::optional<JsonValue> value_at(std::string_view text, std::size_t at, ValueNotation notation,
                                  std::string_view quote, std::size_t& end) {
  ValueReader reader(notation, quote, true);
  std::string json;
  std::size_t used = 0;
  if (reader.read(text.substr(at), used, json) != ValueReader::State::kDone) return std::nullopt;
  auto value = parse_json(json);
  if (!value.ok()) return std::nullopt;
  end = at + used;
  return *value;
}

// {"name": tool, "arguments": {...}} or {tool: {...}}, the outermost that there is.
std::optional<Found> find_object(std::string_view text, std::string_view tool, CallFormat& format) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    std::size_t end = 0;
    const auto value = value_at(text, at, ValueNotation::kJson, "", end);
    if (!value) continue;
    std::string name_key;
    std::string arguments_key;
    for (const auto& [key, member] : *value->object()) {
      if (key == tool && is_arguments(member)) {
        format.shape = CallShape::kKeyedObject;
        return Found{at, end, {}};
      }
      if (text_of(&member) == tool) name_key = key;
      if (is_arguments(member)) arguments_key = key;
    }
    if (name_key.empty() || arguments_key.empty()) continue;
    format.shape = CallShape::kObject;
    format.name_key = name_key;
    format.arguments_key = arguments_key;
    return Found{at, end, {}};
  }
  return std::nullopt;
}

// The name that stands nearest before the key.
std::size_t name_before(std::string_view text, std::string_view tool, std::size_t key) {
  return key == std::string_view::npos ? key : text.rfind(tool, key);
}

// tool MIDDLE {...} in any notation.
std::optional<Found> find_named(std::string_view text, std::string_view tool, CallFormat& format) {
  const std::size_t first = text.find(tool);
  const std::size_t key = first == std::string_view::npos ? first : text.find(word::kKey, first);
  const std::size_t name = name_before(text, tool, key);
  if (name == std::string_view::npos) return std::nullopt;
  const std::size_t name_end = name + tool.size();
  // The quote is what stands between the key's colon and the value.
  std::string quote;
  const std::size_t key_end = key + word::kKey.size();
  const std::size_t value =
      std::min(text.find(word::kValue, key), text.find(word::kOtherValue, key));
  if (value != std::string_view::npos && text[key_end] == ':')
    quote = trimmed(text.substr(key_end + 1, value - key_end - 1));
  for (const auto notation :
       {ValueNotation::kJson, ValueNotation::kPython, ValueNotation::kQuoted}) {
    if (notation == ValueNotation::kQuoted && quote.empty()) continue;
    const char open = notation == ValueNotation::kPython ? '(' : '{';
    for (std::size_t at = text.find(open, name_end); at < key; at = text.find(open, at + 1)) {
      std::size_t end = 0;
      const auto arguments = value_at(text, at, notation, quote, end);
      if (!arguments || !is_arguments(*arguments)) continue;
      format.shape = CallShape::kNameArguments;
      format.notation = notation;
      format.quote = notation == ValueNotation::kQuoted ? quote : "";
      return Found{name, end, std::string(text.substr(name_end, at - name_end))};
    }
  }
  return std::nullopt;
}

std::string with_hole(std::string_view text, std::string_view key) {
  std::string out(text);
  if (const std::size_t at = out.find(key); at != std::string::npos)
    out.replace(at, key.size(), 1, kKeyHole);
  return out;
}

// tool A key B value C other-key B other-value D, where C = end begin, A = middle begin, D = end...
std::optional<Found> find_parameters(std::string_view text, std::string_view tool,
                                     CallFormat& format) {
  const std::size_t key = text.find(word::kKey);
  const std::size_t name = name_before(text, tool, key);
  const std::size_t value = text.find(word::kValue, key);
  const std::size_t other = text.find(word::kOtherKey, value);
  if (name == std::string_view::npos || value == std::string_view::npos ||
      other == std::string_view::npos)
    return std::nullopt;
  // The other key may stand in the first parameter's end mark only as the key that it is.
  const std::string keyed = with_hole(
      text.substr(value + word::kValue.size(), other - value - word::kValue.size()), word::kKey);
  const std::size_t other_value = text.find(word::kOtherValue, other);
  if (other_value == std::string_view::npos) return std::nullopt;
  const std::string_view a = text.substr(name + tool.size(), key - name - tool.size());
  const std::string_view b = text.substr(key + word::kKey.size(), value - key - word::kKey.size());
  const std::string d =
      with_hole(text.substr(other_value + word::kOtherValue.size()), word::kOtherKey);
  const std::size_t shortest = keyed.size() - common_suffix(a, keyed);
  const std::size_t longest = common_prefix(keyed, d);
  const std::size_t cut = mark_start(keyed, shortest);
  if (cut > longest || cut == 0 || cut >= keyed.size() || b.empty()) return std::nullopt;
  format.shape = CallShape::kParameters;
  format.parameter_end = keyed.substr(0, cut);
  format.parameter_begin = keyed.substr(cut);
  format.value_marks = {{std::string(b), true, true, ""}};
  const std::size_t end_size = format.parameter_end.find(kKeyHole) == std::string::npos
                                   ? format.parameter_end.size()
                                   : format.parameter_end.size() - 1 + word::kOtherKey.size();
  return Found{name, other_value + word::kOtherValue.size() + end_size,
               std::string(a.substr(0, a.size() - format.parameter_begin.size()))};
}

// The second call of kParameters has one parameter, so its end follows from the first's marks.
std::optional<Found> find_second_parameters(std::string_view text, std::size_t from,
                                            const CallFormat& format) {
  const std::size_t key = text.find(word::kKey, from);
  const std::size_t name = name_before(text, word::kOtherTool, key);
  const std::size_t value = text.find(word::kOtherValue, key);
  if (name == std::string_view::npos || name < from || value == std::string_view::npos)
    return std::nullopt;
  const std::size_t name_end = name + word::kOtherTool.size();
  const std::string_view a = text.substr(name_end, key - name_end);
  if (!a.ends_with(format.parameter_begin)) return std::nullopt;
  return Found{name, value + word::kOtherValue.size(),
               std::string(a.substr(0, a.size() - format.parameter_begin.size()))};
}

void set_middle(CallFormat& format, const std::string& middle, const std::string& second) {
  format.name_end = middle;
  if (const std::size_t id = middle.find(word::kId); id != std::string::npos) {
    format.has_hole = format.hole_is_id = true;
    format.name_end = middle.substr(0, id);
    format.hole_end = middle.substr(id + word::kId.size());
    return;
  }
  if (second.empty() || second == middle) return;
  const std::size_t prefix = common_prefix(middle, second);
  const std::size_t suffix =
      std::min(common_suffix(middle, second), std::min(middle.size(), second.size()) - prefix);
  const std::string number = middle.substr(prefix, middle.size() - prefix - suffix);
  if (std::from_chars(number.data(), number.data() + number.size(), format.first_number).ec !=
      std::errc())
    return;
  format.has_hole = true;
  format.name_end = middle.substr(0, prefix);
  format.hole_end = middle.substr(middle.size() - suffix);
}

// Marks around one or two calls: before CALL after; before CALL between CALL after.
void set_marks(CallFormat& format, const std::string& before, const std::string& after,
               const std::optional<std::string>& between) {
  format.parallel = between.has_value();
  const std::string_view head = trimmed(before);
  const std::string_view tail = trimmed(after);
  const bool python_list = format.notation == ValueNotation::kPython;
  if ((format.shape != CallShape::kNameArguments || python_list) && head.ends_with('[') &&
      tail.starts_with(']') && (!between || trimmed(*between) == ",")) {
    format.is_list = true;
    format.section_begin = before.substr(0, before.rfind('['));
    format.section_end = after.substr(after.find(']') + 1);
    format.separator = ", ";
    return;
  }
  if (!between) {
    format.call_begin = before;
    format.call_end = after;
    return;
  }
  const std::size_t shared = common_suffix(before, *between);
  std::size_t cut = before.size() - shared;
  if (shared < before.size()) cut = mark_start(before, cut);
  format.call_begin = before.substr(cut);
  format.section_begin = before.substr(0, cut);
  std::string end = between->substr(0, between->size() - format.call_begin.size());
  // What stands behind the last call too is the call's; the rest separates calls.
  std::size_t own = common_prefix(end, after);
  if (own < end.size() && own < after.size()) own = aligned_prefix(end, own);
  format.separator = end.substr(own);
  format.call_end = end.substr(0, own);
  format.section_end = after.substr(own);
  // Without a section, white space before the first call is the answer's.
  if (is_blank(format.section_begin)) format.section_begin.clear();
}

}  // namespace

CallFormat find_shape(const CallTexts& texts) {
  CallFormat format;
  auto first = find_object(texts.one, word::kTool, format);
  if (!first) first = find_named(texts.one, word::kTool, format);
  if (!first) first = find_parameters(texts.one, word::kTool, format);
  if (!first) return {};
  std::optional<std::string> between;
  std::string second_middle;
  CallFormat again = format;
  std::optional<Found> one_of_two;
  std::optional<Found> second;
  const std::string_view two = texts.two;
  switch (format.shape) {
    case CallShape::kObject:
    case CallShape::kKeyedObject:
      one_of_two = find_object(two, word::kTool, again);
      second = find_object(two, word::kOtherTool, again);
      break;
    case CallShape::kNameArguments:
      one_of_two = find_named(two, word::kTool, again);
      second = find_named(two, word::kOtherTool, again);
      break;
    case CallShape::kParameters:
      one_of_two = find_parameters(two, word::kTool, again);
      if (one_of_two) second = find_second_parameters(two, one_of_two->end, format);
      break;
    case CallShape::kNone:
      break;
  }
  if (one_of_two && second && second->begin >= one_of_two->end) {
    between = std::string(two.substr(one_of_two->end, second->begin - one_of_two->end));
    second_middle = second->middle;
  }
  set_middle(format, first->middle, second_middle);
  // Some templates close the section of several calls only.
  std::string after = texts.one.substr(first->end);
  if (between && format.shape != CallShape::kParameters) after = two.substr(second->end);
  set_marks(format, texts.one.substr(0, first->begin), after, between);
  return format;
}

}  // namespace minfer::chat
