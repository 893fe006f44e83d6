// ChatML: the prompt of a plain conversation for models whose template is known to be ChatML.
//
// Owns: a table of known templates by the hash of their text. A template that is not in it is
// refused, never guessed: what it would insert (a system text, a date) cannot be known.
// Invariants: what a person wrote is marked as plain text, so that no `<|im_end|>` in it becomes a
// control token.
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace minfer::chat {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

/// A stretch of the prompt. Only the template's own text may spell control tokens.
struct PromptSpan {
  std::string text;
  bool from_template = false;
};

/// True if render() knows the template with this source.
bool knows_template(std::string_view source);

/// The prompt of `messages`, ending where the assistant's reply begins. kUnsupported: the template
/// is not known; kInvalidArgument: no message.
Result<std::vector<PromptSpan>> render(std::string_view source,
                                       const std::vector<Message>& messages);

}  // namespace minfer::chat
