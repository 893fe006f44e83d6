// Conversation: messages in the form that API clients send, as the context of a chat template, and
// the prompt that comes out, as spans that say who wrote them.
//
// Invariants: whatever a message, tool or template argument holds is request text and stays it;
// only the template's own text, and the names of BOS and EOS, may spell control tokens.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/template.h"

namespace minfer::chat {

/// A stretch of the prompt that one hand wrote. Only the template's own text may spell control
/// tokens.
struct PromptSpan {
  std::string text;
  bool from_template = false;
  /// The message whose `content` these bytes came from, perhaps trimmed or changed on the way;
  /// -1 for the template's own text and everything else of the request. Where the joined text of a
  /// message's spans is its content, the template emitted it unchanged.
  std::int32_t message = -1;
};

struct Conversation {
  JsonValue messages;   // array of {role, content, tool_calls, ...}
  JsonValue tools;      // array, or null
  JsonValue arguments;  // object of further variables (--chat-template-kwargs), or null
  std::string bos_token;
  std::string eos_token;
};

/// The variables of the template. `content` null becomes an empty text, content in parts of type
/// text their joined text; arguments of tool calls that are a JSON object in a string become that
/// object, any others stay text. A last assistant message without tool calls is continued: it is
/// left out of `add_generation_prompt` and closed by nothing. kInvalidArgument: what is no
/// conversation, by path.
Result<Value> make_context(const Conversation& conversation);

/// The prompt of the conversation. Errors of make_context and Template::render.
Result<std::vector<PromptSpan>> render_conversation(const Template& source,
                                                    const Conversation& conversation,
                                                    const RenderOptions& options);

/// A rendered text as spans.
std::vector<PromptSpan> to_spans(const Text& text);

/// {role, content} as a message.
JsonValue make_message(std::string_view role, std::string_view content);

}  // namespace minfer::chat
