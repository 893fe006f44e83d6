// ChatPrompt: the token ids of a conversation, so that what was said keeps the ids it was said in.
//
// A drawn reply is often not spelt as the tokenizer would spell it. Where the template emits a
// reply's text unchanged, its own ids stand in the prompt, and only the text around it is
// tokenized; where the template rewrites it, the new text is tokenized like any other.
//
// Owns: the last prompt's stretches of text with their ids, so that a turn tokenizes its own text
// alone. Invariants: ids() depends on the messages, not on what was asked before.
// Thread-safety: one thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "chat/conversation.h"
#include "engine/logits_source.h"

namespace minfer::engine {

/// One message of a conversation.
struct Message {
  std::string role;     // "system", "user", "assistant"
  std::string content;  // of a reply: what was shown of it
  /// A reply's own ids, which spell `content`; empty: as the tokenizer spells it.
  std::vector<TokenId> ids;
  bool operator==(const Message&) const = default;
};

/// Messages to the spans of the prompt that asks for the next reply.
class PromptWriter {
 public:
  virtual ~PromptWriter() = default;
  /// Errors: what the template refuses.
  virtual Result<std::vector<chat::PromptSpan>> write(std::span<const Message> messages) = 0;
};

/// Spans to ids.
class PromptEncoder {
 public:
  virtual ~PromptEncoder() = default;
  /// `at_start`: the spans begin the text (BOS belongs before them), else they go on from a reply.
  virtual Result<std::vector<TokenId>> encode(std::span<const chat::PromptSpan> spans,
                                              bool at_start) = 0;
};

class ChatPrompt {
 public:
  /// Both must outlive it.
  ChatPrompt(PromptWriter& writer, PromptEncoder& encoder) : writer_(writer), encoder_(encoder) {}

  /// The ids of the prompt that asks for the reply to `messages`. Errors of the writer and the
  /// encoder.
  Result<std::vector<TokenId>> ids(std::span<const Message> messages);

  /// The ids of the same prompt up to the last blank of the last message: what will not change
  /// while a person types on at its end.
  Result<std::vector<TokenId>> ids_while_typing(std::span<const Message> messages);

  /// The ids that the template puts behind the last message, a reply, when a turn follows; empty
  /// where it cannot be told.
  std::vector<TokenId> ids_behind(std::span<const Message> messages);

 private:
  struct Stretch {
    std::vector<chat::PromptSpan> spans;
    std::vector<TokenId> ids;
    bool reply = false;
  };

  Result<std::vector<Stretch>> stretches(std::span<const Message> messages,
                                         std::span<const chat::PromptSpan> spans);
  Result<std::vector<TokenId>> encode(std::vector<Stretch> parts, bool remember);

  PromptWriter& writer_;
  PromptEncoder& encoder_;
  std::vector<Stretch> last_;
};

}  // namespace minfer::engine
