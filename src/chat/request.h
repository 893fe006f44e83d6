// Request: the conversation part of an API request's body.
//
// Thread-safety: pure functions, values.
#pragma once

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/chat_template.h"
#include "chat/conversation.h"
#include "chat/tool_schema.h"

namespace minfer::chat {

struct ChatRequest {
  /// With tool_choice none, the tools are left out of it.
  Conversation conversation;
  ToolChoice tool_choice;
  ToolSet tools;
};

/// `body`: a list of messages, or an object with `messages` and, where they are wanted, `tools`,
/// `tool_choice` and `chat_template_kwargs`; other members belong to others. kInvalidArgument by
/// path.
Result<ChatRequest> read_request(JsonValue body);

/// Where the request has tools and the template shows none: they are described in the system text
/// (tool_prompt) and taken out of the conversation; true: say kToolPromptNote, and read replies by
/// tool_prompt_format. kUnsupported where a call must come.
Result<bool> describe_tools(const ChatTemplate& chat, ChatRequest& request);

}  // namespace minfer::chat
