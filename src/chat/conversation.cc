#include "chat/conversation.h"

#include <fmt/format.h>

namespace minfer::chat {
namespace {

/// Stands where a continued reply ends: no text that anybody would write.
constexpr std::string_view kEndMark = "\x01minfer-continue\x01";

Result<std::string> plain_content(const JsonValue& content, std::size_t index) {
  if (content.is_null()) return std::string();
  if (const std::string* text = content.string()) return *text;
  if (content.array() == nullptr)
    return invalid_argument(
        fmt::format("messages[{}].content: text, null or a list of parts is needed", index));
  std::string joined;
  for (const JsonValue& part : *content.array()) {
    const JsonValue* type = part.find("type");
    const JsonValue* text = part.find("text");
    if (text == nullptr || text->string() == nullptr ||
        (type != nullptr && (type->string() == nullptr || *type->string() != "text")))
      return unsupported(
          fmt::format("messages[{}].content: only parts of type text are known", index));
    joined += *text->string();
  }
  return joined;
}

JsonValue json_text(std::string text) { return JsonValue{std::move(text)}; }

// Arguments that are JSON in a string become the object that they spell.
void open_arguments(JsonValue& calls) {
  auto* list = std::get_if<JsonValue::Array>(&calls.data);
  if (list == nullptr) return;
  for (JsonValue& call : *list) {
    auto* members = std::get_if<JsonValue::Object>(&call.data);
    if (members == nullptr) continue;
    for (auto& [name, function] : *members) {
      auto* fields = std::get_if<JsonValue::Object>(&function.data);
      if (name != "function" || fields == nullptr) continue;
      for (auto& [key, value] : *fields) {
        if (key != "arguments" || value.string() == nullptr) continue;
        auto parsed = parse_json(*value.string());
        if (parsed.ok() && parsed->object() != nullptr) value = std::move(*parsed);
      }
    }
  }
}

/// `open`: the reply is continued, and its end marked.
Result<Value> plain_message(const JsonValue& message, std::size_t index, bool open) {
  const JsonValue* role = message.find("role");
  if (role == nullptr || role->string() == nullptr)
    return invalid_argument(fmt::format("messages[{}]: an object with a role is needed", index));
  const JsonValue* content = message.find("content");
  MINFER_ASSIGN_OR_RETURN(std::string text,
                          plain_content(content != nullptr ? *content : JsonValue{}, index));
  if (open) text += kEndMark;
  Dict out;
  for (const auto& [name, value] : *message.object()) {
    JsonValue member = value;
    if (name == "tool_calls") open_arguments(member);
    out.set(Value::request(name), Value::from_json(member));
  }
  out.set(Value::request("content"), Value(Text(std::move(text), message_origin(index))));
  return Value::dict(std::move(out));
}

bool is_continued(const JsonValue::Array& messages) {
  if (messages.empty()) return false;
  const JsonValue* role = messages.back().find("role");
  const JsonValue* calls = messages.back().find("tool_calls");
  return role != nullptr && role->string() != nullptr && *role->string() == "assistant" &&
         (calls == nullptr || calls->is_null());
}

}  // namespace

JsonValue make_message(std::string_view role, std::string_view content) {
  JsonValue::Object members;
  members.emplace_back("role", json_text(std::string(role)));
  members.emplace_back("content", json_text(std::string(content)));
  return JsonValue{std::move(members)};
}

Result<Value> make_context(const Conversation& conversation) {
  const JsonValue::Array* given = conversation.messages.array();
  if (given == nullptr || given->empty())
    return invalid_argument("the conversation has no message: a JSON array of messages is needed");
  const bool continued = is_continued(*given);
  std::vector<Value> messages;
  for (const JsonValue& message : *given) {
    const bool open = continued && messages.size() + 1 == given->size();
    MINFER_ASSIGN_OR_RETURN(Value plain, plain_message(message, messages.size(), open));
    messages.push_back(std::move(plain));
  }
  Dict context;
  const auto set = [&](std::string_view name, Value value) {
    context.set(Value::literal(std::string(name)), std::move(value));
  };
  set("bos_token", Value::literal(conversation.bos_token));
  set("eos_token", Value::literal(conversation.eos_token));
  if (const JsonValue::Object* more = conversation.arguments.object()) {
    for (const auto& [name, value] : *more) set(name, Value::from_json(value));
  }
  set("messages", Value::list(std::move(messages)));
  if (conversation.tools.array() != nullptr) set("tools", Value::from_json(conversation.tools));
  set("add_generation_prompt", Value(!continued));
  return Value::dict(std::move(context));
}

std::vector<PromptSpan> to_spans(const Text& text) {
  std::vector<PromptSpan> spans;
  std::size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    spans.push_back({text.bytes().substr(begin, run.end - begin), run.origin == Origin::kTemplate,
                     message_of(run.origin)});
    begin = run.end;
  }
  return spans;
}

Result<std::vector<PromptSpan>> render_conversation(const Template& source,
                                                    const Conversation& conversation,
                                                    const RenderOptions& options) {
  MINFER_ASSIGN_OR_RETURN(const Value context, make_context(conversation));
  MINFER_ASSIGN_OR_RETURN(const Text text, source.render(context, options));
  if (!is_continued(*conversation.messages.array())) return to_spans(text);
  const std::size_t mark = text.bytes().rfind(kEndMark);
  if (mark == std::string::npos)
    return invalid_argument(
        "the last message is the assistant's, to be continued, and the template drops its text");
  return to_spans(text.sub(0, mark));
}

}  // namespace minfer::chat
