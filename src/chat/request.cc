#include "chat/request.h"

#include "chat/tool_prompt.h"

namespace minfer::chat {
namespace {

JsonValue member_of(const JsonValue& body, std::string_view name) {
  const JsonValue* member = body.find(name);
  return member != nullptr ? *member : JsonValue{};
}

/// `text` behind the system text, or as a system message of its own.
void add_system_text(JsonValue& messages, const std::string& text) {
  auto* list = std::get_if<JsonValue::Array>(&messages.data);
  if (list == nullptr) return;  // no conversation: render says so
  if (!list->empty() && list->front().object() != nullptr) {
    const JsonValue* role = list->front().find("role");
    const JsonValue* content = list->front().find("content");
    if (role != nullptr && role->string() != nullptr && *role->string() == "system" &&
        content != nullptr && content->string() != nullptr) {
      list->front() = make_message("system", *content->string() + "\n\n" + text);
      return;
    }
  }
  list->insert(list->begin(), make_message("system", text));
}

}  // namespace

Result<ChatRequest> read_request(JsonValue body) {
  ChatRequest request;
  Conversation& conversation = request.conversation;
  if (body.object() == nullptr) {
    conversation.messages = std::move(body);
    return request;
  }
  conversation.messages = member_of(body, "messages");
  conversation.tools = member_of(body, "tools");
  MINFER_ASSIGN_OR_RETURN(request.tools, parse_tools(conversation.tools));
  conversation.arguments = member_of(body, "chat_template_kwargs");
  if (!conversation.arguments.is_null() && conversation.arguments.object() == nullptr)
    return invalid_argument("chat_template_kwargs: an object is needed");
  MINFER_ASSIGN_OR_RETURN(request.tool_choice,
                          parse_tool_choice(member_of(body, "tool_choice"), request.tools));
  if (request.tool_choice.kind == ToolChoice::Kind::kNone) conversation.tools = JsonValue{};
  return request;
}

Result<bool> describe_tools(const ChatTemplate& chat, ChatRequest& request) {
  const Abilities& abilities = chat.abilities(true);
  if (request.conversation.tools.is_null() || request.tools.empty() || abilities.tools ||
      !abilities.usable)
    return false;
  MINFER_RETURN_IF_ERROR(check_tool_prompt(request.tool_choice));
  add_system_text(request.conversation.messages, tool_prompt(request.tools));
  request.conversation.tools = JsonValue{};
  return true;
}

}  // namespace minfer::chat
