// Conversation: turns of a chat over one token stream in the KV.
//
// Owns: the messages, the stream (the tokens whose rows are in the KV), what is pending behind it,
// and named branches. The prompt of a turn is compared with the stream: the longest common prefix
// stays, the rest is prefilled. So a turn costs its delta where the template only appends, and what
// changed where it rewrites history; and everything that a person can do (undo, edit, another
// template, a resumed file) is the same step.
// Invariants: stream().size() == the source's cursor, at all times. What is refused changes
// nothing. A reply that was stopped holds only what was shown.
// Thread-safety: one thread; the reply is stopped through GenerateOptions::cancel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/chat_prompt.h"
#include "engine/generate.h"
#include "engine/logits_source.h"
#include "sampling/sampler.h"

namespace minfer::engine {

/// What a conversation is made of. All must outlive it.
struct ConversationParts {
  PromptWriter* writer = nullptr;
  PromptEncoder* encoder = nullptr;
  /// The bytes of a token; called for each token of a reply anew.
  std::function<std::unique_ptr<TokenBytes>()> token_bytes;
  /// A sampler for the next reply, `attempt` being the number of times it was drawn before.
  std::function<Result<sampling::Sampler>(std::uint32_t attempt)> sampler;
  /// Where set: what stands before the source while a reply is made (speculation). `before`: the
  /// tokens in the source.
  std::function<std::unique_ptr<LogitsSource>(RewindableSource& source,
                                              std::span<const TokenId> before)>
      ahead;
};

struct ReplyHooks {
  /// The prompt is known: a reply to it follows.
  std::function<void(std::span<const TokenId> prompt)> on_begin;
  /// See GenerateOptions.
  std::function<std::optional<TokenId>()> forced;
  /// Prefill has come to `done` of `all` tokens of the delta.
  std::function<void(std::int32_t done, std::int32_t all)> on_prefill;
  /// Oldest turns were dropped to make room.
  std::function<void(std::int32_t n_turns)> on_dropped;
  /// Whole characters of the reply. false: stop.
  std::function<bool(std::string_view)> on_text;
};

struct Reply {
  std::string text;
  FinishReason finish = FinishReason::kFailed;
  Status status;               // not OK only with kFailed
  std::int32_t n_prompt = 0;   // tokens of the whole prompt
  std::int32_t n_prefill = 0;  // of them, run in this turn
  std::int32_t n_tokens = 0;   // drawn
  std::int32_t n_dropped_turns = 0;
  /// It was cut before it was what the sampler's constraint wants.
  bool incomplete = false;
  /// Nothing was shown before the stop: the message was taken back.
  bool taken_back = false;
  /// Nothing was shown before the stop: the reply that was to be drawn again stays.
  bool old_stays = false;
  double prefill_seconds = 0, decode_seconds = 0;

  [[nodiscard]] bool shows_nothing() const {
    return (finish == FinishReason::kCancelled || finish == FinishReason::kFailed) && text.empty();
  }
};

/// All that a session file keeps beside the rows.
struct ConversationState {
  std::vector<Message> messages;
  std::vector<TokenId> stream, pending;
  std::uint32_t attempt = 0;
};

class Conversation {
 public:
  /// `options`: cap, stop strings, end-of-generation ids and cancel flag of every reply; its
  /// on_text is not used.
  Conversation(ConversationParts parts, std::unique_ptr<BranchingSource> source,
               GenerateOptions options);
  ~Conversation();

  // Turns. A turn is a user's message and its reply; they are counted from 1.

  /// Adds a user's message and answers it. Errors, with nothing changed: a message that does not
  /// fit (kOutOfRange), what the template or the tokenizer refuses.
  Result<Reply> send(std::string text, const ReplyHooks& hooks);
  /// Draws the last reply again, with the next attempt. kInvalidArgument: there is none.
  Result<Reply> regenerate(const ReplyHooks& hooks);
  /// n replies to the last user's message from one prefill, attempts 0..n-1, the last of them
  /// current. `begin` is called before each.
  Result<std::vector<Reply>> alternatives(std::int32_t n, const ReplyHooks& hooks,
                                          const std::function<void(std::int32_t)>& begin);
  /// Makes alternative n (from 1) the last reply.
  Status pick(std::int32_t n);

  /// Takes back turn n and all behind it; the result is its user's message. kOutOfRange: no such
  /// turn.
  Result<std::string> take_back(std::int32_t turn);
  /// Forgets the turns behind turn n (0: all).
  Status go_to(std::int32_t turn);
  /// Forgets all turns; the system text stays.
  void clear();
  /// Empty: no system text.
  void set_system(std::string text);
  [[nodiscard]] std::string_view system() const;

  /// Saves the present state under a name, sharing its pages; the conversation goes on as `name`.
  Status fork(const std::string& name);
  /// Goes on with another branch ("main" is the first).
  Status switch_to(const std::string& name);
  [[nodiscard]] std::vector<std::string> branches() const;
  [[nodiscard]] const std::string& branch() const { return branch_; }

  /// Prefills at most `max_tokens` of the prompt that `text`, still being typed, will be part of.
  /// True: there is more to do.
  Result<bool> prefill_ahead(std::string_view text, std::int32_t max_tokens);

  [[nodiscard]] std::span<const Message> messages() const { return messages_; }
  /// Replaces all messages (/load): rows are kept as far as the prompt is the same.
  void set_messages(std::vector<Message> messages);
  [[nodiscard]] std::int32_t n_turns() const;
  [[nodiscard]] std::span<const TokenId> stream() const { return stream_; }
  [[nodiscard]] std::span<const TokenId> pending() const { return pending_; }
  [[nodiscard]] RewindableSource& source() const { return *source_; }
  [[nodiscard]] GenerateOptions& options() { return options_; }

  [[nodiscard]] ConversationState state() const;
  /// Goes on from a state; the source's cursor must be stream.size() or 0 (rows could not be had:
  /// they are made again with the next turn).
  void restore(ConversationState state);

 private:
  struct Branch;

  /// The messages without the oldest `n` turns.
  [[nodiscard]] std::vector<Message> without_oldest(std::int32_t n) const;
  Result<std::vector<TokenId>> fitted_prompt(std::int32_t& n_dropped);
  Status settle(std::span<const TokenId> prompt);
  Result<Reply> answer(std::uint32_t attempt, const ReplyHooks& hooks);
  Status prefill(std::span<const TokenId> prompt, const ReplyHooks& hooks);
  void take_reply(std::span<const TokenId> prompt, const GenerateResult& result, Reply& reply);
  /// In place of the last reply; its tokens that are not in the KV are encoded when they are
  /// needed.
  void put_back(Message reply);
  [[nodiscard]] bool cancelled() const;
  [[nodiscard]] std::size_t first_turn() const;
  [[nodiscard]] std::size_t turn_begin(std::int32_t turn) const;

  ConversationParts parts_;
  std::unique_ptr<BranchingSource> source_;
  GenerateOptions options_;
  ChatPrompt prompt_;
  std::vector<Message> messages_;
  std::vector<TokenId> stream_, pending_;
  std::uint32_t attempt_ = 0;          // of the last reply
  std::vector<Message> alternatives_;  // of the last reply
  std::string branch_ = "main";
  std::map<std::string, Branch> branches_;  // those that are not current
  // What prefill_ahead() is at.
  std::vector<Message> ahead_messages_;
  std::string ahead_text_;
  std::vector<TokenId> ahead_ids_;
};

}  // namespace minfer::engine
