#include "chat/request.h"

namespace minfer::chat {
namespace {

JsonValue member_of(const JsonValue& body, std::string_view name) {
  const JsonValue* member = body.find(name);
  return member != nullptr ? *member : JsonValue{};
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

}  // namespace minfer::chat
