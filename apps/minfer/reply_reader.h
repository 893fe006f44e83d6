// ReplyShape and ReplyReader: a model's reply on its way to the person: thoughts, answer and tool
// calls told apart, by the format that the chat template shows (chat/reply_format.h).
//
// Thread-safety: a ReplyShape is immutable; a ReplyReader is one thread's.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "chat/reply_format.h"
#include "chat/reply_parser.h"
#include "engine/generate.h"
#include "options.h"
#include "text/tokenizer.h"

namespace minfer::app {

/// What is known of all replies of one model. The tokenizer must outlive it.
class ReplyShape {
 public:
  /// `with_tools`: the template that is used with tools. Without a template (raw prompts) use the
  /// second form: everything is the answer.
  static ReplyShape create(const chat::ChatTemplate& source, bool with_tools,
                           const text::Tokenizer& tokenizer);
  static ReplyShape plain(const text::Tokenizer& tokenizer);

  [[nodiscard]] const chat::ReplyFormat& format() const { return format_; }
  /// Bytes of drawn tokens: of control tokens those of marks alone, for the reader to see.
  [[nodiscard]] std::unique_ptr<engine::TokenBytes> token_bytes() const;
  /// Where the reply to the prompt with these ids begins.
  [[nodiscard]] chat::ReplyStart start(std::span<const engine::TokenId> prompt) const;
  /// The ids of what ends a thought.
  [[nodiscard]] Result<std::vector<engine::TokenId>> thought_end() const;

 private:
  explicit ReplyShape(const text::Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  const text::Tokenizer* tokenizer_;
  chat::ReplyFormat format_;
  std::shared_ptr<const std::vector<bool>> shown_;  // by id: control tokens in marks
};

/// Changes a conversation's template arguments as --reasoning asks. The result is what is to stand
/// behind the prompt, control tokens spelled out; kUnsupported: the template cannot do it.
Result<std::string> ask_reasoning(const Options& options, const chat::ReplyFormat& format,
                                  JsonValue& arguments);

/// Where the parts of one reply go. The functions give false to stop the reply.
struct ReplySinks {
  std::function<bool(std::string_view)> answer;
  std::function<bool(std::string_view)> thought;
};

class ReplyReader {
 public:
  /// `shape` and `tools` (or null) must outlive it.
  ReplyReader(const ReplyShape& shape, chat::ReplyStart start, const chat::ToolSet* tools,
              std::uint64_t id_seed, ReplySinks sinks);

  /// A piece of the reply, as GenerateOptions::on_text gives it.
  bool feed(std::string_view piece);
  /// The reply is over.
  bool finish();

  [[nodiscard]] bool in_thought() const { return parser_.in_reasoning(); }
  [[nodiscard]] const chat::Reply& reply() const { return parser_.reply(); }

 private:
  bool show(const std::vector<chat::ReplyEvent>& events);

  chat::ReplyParser parser_;
  ReplySinks sinks_;
};

/// Ends a thought that has become as long as --reasoning-budget allows: the next token of a reply,
/// where it is not to be drawn.
class ThoughtBudget {
 public:
  /// n_tokens < 0: no bound.
  ThoughtBudget(std::int32_t n_tokens, std::vector<engine::TokenId> end)
      : left_(n_tokens), bounded_(n_tokens >= 0), end_(std::move(end)) {}

  /// Called before each token; `in_thought`: it would belong to a thought.
  std::optional<engine::TokenId> next(bool in_thought);

 private:
  std::int32_t left_;
  bool bounded_;
  std::vector<engine::TokenId> end_;
  std::size_t n_forced_ = 0;
};

}  // namespace minfer::app
