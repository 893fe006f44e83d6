// Request: the conversation part of an API request's body.
//
// Thread-safety: pure functions, values.
#pragma once

#include "base/json_reader.h"
#include "base/status.h"
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

}  // namespace minfer::chat
