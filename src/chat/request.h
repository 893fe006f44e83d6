// Request: the conversation part of an API request's body.
//
// Thread-safety: pure functions, values.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/conversation.h"

namespace minfer::chat {

/// Whether the model may or must call a tool.
enum class ToolChoice : std::uint8_t { kAuto, kNone, kRequired, kNamed };

struct ChatRequest {
  /// With tool_choice none, the tools are left out.
  Conversation conversation;
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_name;  // with kNamed
};

/// `body`: a list of messages, or an object with `messages` and, where they are wanted, `tools`,
/// `tool_choice` and `chat_template_kwargs`; other members belong to others. kInvalidArgument by
/// path.
Result<ChatRequest> read_request(JsonValue body);

}  // namespace minfer::chat
