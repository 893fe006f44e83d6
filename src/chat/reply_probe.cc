#include "chat/reply_probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/reply_marks.h"
#include "chat/reply_value.h"

namespace minfer::chat {
namespace {

JsonValue parameter(std::string_view description) {
  return JsonValue{
      JsonValue::Object{{"type", json_of("string")}, {"description", json_of(description)}}};
}

JsonValue probe_tool(std::string_view name) {
  JsonValue::Object properties;
  properties.emplace_back(word::kKey, parameter("one"));
  properties.emplace_back(word::kOtherKey, parameter("two"));
  JsonValue::Object schema{{"type", json_of("object")},
                           {"properties", JsonValue{std::move(properties)}},
                           {"required", JsonValue{JsonValue::Array{json_of(word::kKey)}}}};
  JsonValue::Object function{{"name", json_of(name)},
                             {"description", json_of("does")},
                             {"parameters", JsonValue{std::move(schema)}}};
  return JsonValue{JsonValue::Object{{"type", json_of("function")},
                                     {"function", JsonValue{std::move(function)}}}};
}

}  // namespace

JsonValue json_of(std::string_view text) { return JsonValue{std::string(text)}; }

JsonValue probe_call(std::string_view tool, std::string_view id, JsonValue::Object arguments,
                     bool as_text) {
  JsonValue object{std::move(arguments)};
  JsonValue::Object function{{"name", json_of(tool)},
                             {"arguments", as_text ? json_of(json_text(object)) : object}};
  return JsonValue{JsonValue::Object{{"id", json_of(id)},
                                     {"type", json_of("function")},
                                     {"function", JsonValue{std::move(function)}}}};
}

std::optional<std::string> render_probe(const Template& source, const ProbeOptions& options,
                                        const Probe& probe) {
  JsonValue::Array messages;
  messages.push_back(
      JsonValue{JsonValue::Object{{"role", json_of("user")}, {"content", json_of(word::kUser)}}});
  messages.insert(messages.end(), probe.messages.begin(), probe.messages.end());
  Dict context;
  const auto set = [&](std::string_view name, Value value) {
    context.set(Value::literal(std::string(name)), std::move(value));
  };
  set("bos_token", Value::literal(options.bos_token));
  set("eos_token", Value::literal(options.eos_token));
  for (const auto& [name, value] : probe.arguments) set(name, Value::from_json(value));
  set("messages", Value::from_json(JsonValue{std::move(messages)}));
  if (probe.has_tools) {
    set("tools", Value::from_json(JsonValue{
                     JsonValue::Array{probe_tool(word::kTool), probe_tool(word::kOtherTool)}}));
  }
  set("add_generation_prompt", Value(probe.add_generation_prompt));
  const auto text = source.render(Value::dict(std::move(context)), options.render);
  if (!text.ok()) return std::nullopt;
  const std::size_t user = text->bytes().find(word::kUser);
  if (user == std::string::npos) return std::nullopt;
  if (probe.whole) return text->bytes();
  return text->bytes().substr(user + word::kUser.size());
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first -
      a.begin());
}

std::size_t common_suffix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

std::size_t aligned_prefix(std::string_view text, std::size_t n) {
  const auto may_cut = [&](std::size_t at) {
    return at == 0 || at == text.size() || std::string_view(">]\n").find(text[at - 1]) < 3 ||
           mark_start(text, at) == at;
  };
  while (!may_cut(n)) --n;
  return n;
}

std::size_t mark_start(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const char before = at > 0 ? text[at - 1] : ' ';
    if (kBlanks.find(c) != std::string_view::npos) return at;
    if (c == '<' && before != ']') return at;
    if (c == '[' && (before == '>' || before == ']' || kBlanks.find(before) != std::string::npos))
      return at;
    if (c == ']' && at + 1 < text.size() && text[at + 1] == '<') return at;
  }
  return text.size();
}

}  // namespace minfer::chat
