// Conversation: messages in the form that API clients send, and the prompt that a template makes of
// them, as spans that say who wrote them.
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
#include "chat/messages.h"
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
  /// Array of {role, content, tool_calls, ...}. `content`: text, null, or a list of text parts,
  /// which are joined; arguments of calls: an object, or its text. A last assistant message without
  /// calls is continued: the prompt ends where its text does.
  JsonValue messages;
  JsonValue tools;      // array of {type: function, function: {...}}, or null
  JsonValue arguments;  // object of further variables (--chat-template-kwargs), or null
};

/// The prompt of the conversation under one template, whose abilities shape the messages
/// (chat/messages.h). `conversation.tools` have passed parse_tools. Most callers want
/// ChatTemplate::render. Errors: kInvalidArgument, what is no
/// conversation, by path; those of Template::render.
Result<std::vector<PromptSpan>> render_conversation(const Template& source,
                                                    const Abilities& abilities,
                                                    const TokenNames& tokens,
                                                    const Conversation& conversation,
                                                    const RenderOptions& options);

/// A rendered text as spans.
std::vector<PromptSpan> to_spans(const Text& text);

/// {role, content} as a message.
JsonValue make_message(std::string_view role, std::string_view content);

}  // namespace minfer::chat
