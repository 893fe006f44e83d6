// Messages: a request's messages and tools, checked and brought into the form that a template
// knows.
//
// Invariants: every byte keeps its origin: content its message's, all else the request's.
// Thread-safety: pure functions, values.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/abilities.h"
#include "chat/value.h"

namespace minfer::chat {

struct ChatMessage {
  std::string role;
  Text content;  // parts are joined; null is an empty text
  /// All members as the request wrote them; role and content stand above. `tool_calls`, where there
  /// are any, is a list of {function: {name, arguments: object or text}, ...}.
  JsonValue::Object members;

  [[nodiscard]] const JsonValue* member(std::string_view name) const;
  /// The calls of the turn; null where there is none.
  [[nodiscard]] const JsonValue::Array* calls() const;
};

/// The messages of a request. kInvalidArgument names what is wrong by its path
/// (`messages[2].tool_calls[0].function.name`), kUnsupported a part that is no text.
Result<std::vector<ChatMessage>> read_messages(const JsonValue& messages);

/// What the template would drop or refuse is said in a way that it knows:
/// - `developer` is `system` where the source does not know it (`knows_developer`);
/// - system text goes before the next user's message;
/// - calls become lines of JSON in the content, results of tools a user's turn, several in a row
///   one turn;
/// - reasoning is given under the names reasoning_content and thinking; a result gets the name of
///   the function that was called; calls without an id get one.
void adapt_messages(std::vector<ChatMessage>& messages, const Abilities& abilities,
                    bool knows_developer);

/// The message as a template sees it.
Value message_value(const ChatMessage& message, const Abilities& abilities);

/// What a template sees beside the messages; null pointers and JSON nulls are left out.
struct ContextParts {
  const TokenNames* tokens = nullptr;
  const JsonValue* tools = nullptr;
  const JsonValue* arguments = nullptr;
  bool add_generation_prompt = true;
};

/// The variables of a template.
Value make_context(const std::vector<ChatMessage>& messages, const Abilities& abilities,
                   const ContextParts& parts);

/// A JSON document as Python's json.dumps writes it without ASCII escapes.
std::string dumps(const JsonValue& json);

}  // namespace minfer::chat
