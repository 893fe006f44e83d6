// ChatSession: a chat made ready: the model, its template, the conversation over both, and the file
// that it is kept in.
//
// Owns: all of these, the sampler's settings included.
// Invariants: the file holds the last turn that save() was called behind. The time that a template
// may ask for is that of the start, so that no prompt changes at midnight.
// Thread-safety: one thread.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "chat_prompt.h"
#include "engine/conversation.h"
#include "engine/session_file.h"
#include "load.h"
#include "output_grammar.h"
#include "reply_reader.h"
#include "speculation_choice.h"

namespace minfer::app {

class ChatSession {
 public:
  /// Loads the model and opens the conversation, with --system, and with what --session holds.
  /// Errors: those of load(); a model without tokenizer or template; a session file that cannot be
  /// used.
  static Result<std::unique_ptr<ChatSession>> open(const Invocation& invocation,
                                                   const EnvSwitches& env);
  ~ChatSession();

  [[nodiscard]] engine::Conversation& conversation() { return *conversation_; }
  [[nodiscard]] plan::Forward& forward() { return *forward_; }
  [[nodiscard]] const Loaded& loaded() const { return loaded_; }
  [[nodiscard]] const SessionPlan& plan() const { return plan_; }
  [[nodiscard]] const chat::ChatTemplate& chat_template() const { return *template_; }
  [[nodiscard]] const ReplyShape& shape() const { return *shape_; }
  /// What replies must follow.
  [[nodiscard]] const OutputGrammar& grammar() const { return grammar_; }
  [[nodiscard]] const sampling::SamplerOptions& sampling() const { return sampling_; }
  [[nodiscard]] const engine::SpeculationCounts& speculation() const { return speculation_counts_; }
  [[nodiscard]] engine::DraftModel* draft_model() { return speculation_.draft_model; }

  /// Takes the sampler's settings anew out of changed options, for the replies to come.
  Status set_sampling(const Invocation& invocation);

  /// Whether the next token is none of the answer's, so that a grammar does not bind it.
  void set_answer_free(bool free) { answer_free_ = free; }

  /// Saves the conversation to --session; nothing without it. On error the file is as it was.
  Status save();

 private:
  class AnswerConstraint;
  class Writer;

  ChatSession() = default;
  Status open_conversation(const Invocation& invocation, const EnvSwitches& env);
  Status open_file(const Invocation& invocation);
  Status open_prefix(const std::string& path);
  [[nodiscard]] engine::ConversationParts parts();
  [[nodiscard]] engine::Session& session() const;

  Loaded loaded_;
  SessionPlan plan_;
  std::unique_ptr<chat::ChatTemplate> template_;
  std::unique_ptr<ReplyShape> shape_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<SpanEncoder> encoder_;
  sampling::SamplerOptions sampling_;
  OutputGrammar grammar_;
  sampling::TokenStrings breaker_bytes_;  // for sampling_
  SpeculationChoice speculation_;
  engine::GainOptions gain_;
  engine::SpeculationCounts speculation_counts_;
  plan::Forward* forward_ = nullptr;
  bool answer_free_ = false;
  std::unique_ptr<engine::Conversation> conversation_;
  std::unique_ptr<engine::SessionFile> file_;
};

}  // namespace minfer::app
