// The tool prompt for a template without tools: plain JSON calls, no other model's markers.
//
// Use: where abilities(true).tools is false and the request has tools: check_tool_prompt() refuses
// a call that must come; tool_prompt() goes behind the system text (a system message of its own
// where there is none) and the tools are left out of the conversation; tool_prompt_format() stands
// in for the template's format in ReplyParser and make_tool_grammar. Say kToolPromptNote.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "chat/reply_format.h"
#include "chat/tool_schema.h"

namespace minfer::chat {

inline constexpr std::string_view kToolPromptNote =
    "template has no tool support: tools are described in the system text, calls are plain JSON";

/// kUnsupported "template has no tool support" for required and named.
Status check_tool_prompt(const ToolChoice& choice);

/// What the model is told.
std::string tool_prompt(const ToolSet& tools);

/// `format` with calls as {"name": NAME, "arguments": {...}}, one a reply, from its first byte.
ReplyFormat tool_prompt_format(ReplyFormat format);

}  // namespace minfer::chat
