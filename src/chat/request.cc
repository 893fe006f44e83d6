#include "chat/request.h"

#include <algorithm>

#include "chat/messages.h"

namespace minfer::chat {
namespace {

JsonValue member_of(const JsonValue& body, std::string_view name) {
  const JsonValue* member = body.find(name);
  return member != nullptr ? *member : JsonValue{};
}

bool has_tool(const JsonValue& tools, const std::string& name) {
  return tools.array() != nullptr &&
         std::ranges::any_of(*tools.array(), [&](const JsonValue& tool) {
           return *tool.find("function")->find("name")->string() == name;
         });
}

Status read_choice(const JsonValue& choice, ChatRequest& request) {
  if (choice.is_null()) return ok_status();
  const JsonValue& tools = request.conversation.tools;
  if (const std::string* word = choice.string()) {
    if (*word != "auto" && *word != "none" && *word != "required")
      return invalid_argument("tool_choice: auto, none, required or a function is needed");
    request.tool_choice = *word == "auto"   ? ToolChoice::kAuto
                          : *word == "none" ? ToolChoice::kNone
                                            : ToolChoice::kRequired;
  } else {
    const JsonValue* function = choice.find("function");
    const JsonValue* name = function != nullptr ? function->find("name") : nullptr;
    if (name == nullptr || name->string() == nullptr)
      return invalid_argument("tool_choice.function.name: the name of a function is needed");
    request.tool_choice = ToolChoice::kNamed;
    request.tool_name = *name->string();
    if (!has_tool(tools, request.tool_name))
      return invalid_argument("tool_choice.function.name: no tool has this name");
  }
  if (request.tool_choice == ToolChoice::kRequired &&
      (tools.array() == nullptr || tools.array()->empty()))
    return invalid_argument("tool_choice: there are no tools to call");
  return ok_status();
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
  MINFER_RETURN_IF_ERROR(check_tools(conversation.tools));
  conversation.arguments = member_of(body, "chat_template_kwargs");
  if (!conversation.arguments.is_null() && conversation.arguments.object() == nullptr)
    return invalid_argument("chat_template_kwargs: an object is needed");
  MINFER_RETURN_IF_ERROR(read_choice(member_of(body, "tool_choice"), request));
  if (request.tool_choice == ToolChoice::kNone) conversation.tools = JsonValue{};
  return request;
}

}  // namespace minfer::chat
