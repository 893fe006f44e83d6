// ChatLoop: messages and commands in, replies out, over a conversation.
//
// Owns: what a chat remembers beside the conversation: the settings, the file text that waits for
// the next message, whether a turn failed.
// Thread-safety: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "chat_command_line.h"
#include "chat_input.h"
#include "chat_screen.h"
#include "engine/conversation.h"
#include "output_grammar.h"
#include "parse.h"
#include "plan/forward.h"
#include "reply_reader.h"

namespace minfer::app {

/// All must outlive the loop.
struct ChatLoopParts {
  engine::Conversation& conversation;
  plan::Forward& forward;  // what Ctrl+C stops
  ChatScreen& screen;
  ChatInput& input;
  /// How replies are written.
  const ReplyShape& shape;
  /// What they must follow.
  const OutputGrammar& grammar;
  /// Options of the command line, changed by /set.
  Invocation& invocation;
  /// Takes the sampler's settings out of the changed options; refuses what cannot be.
  std::function<Status(const Invocation&)> set_sampler;
  /// Called behind each turn and each change (a session file).
  std::function<Status()> save;
  /// The settings that hold.
  std::function<const sampling::SamplerOptions&()> sampling;
  /// Told before each draw whether the token is none of the answer's.
  std::function<void(bool)> set_answer_free;
};

class ChatLoop {
 public:
  explicit ChatLoop(ChatLoopParts parts) : parts_(std::move(parts)) {}

  /// Runs to the end of the input; `first` is a message that was given. The exit status.
  int run(std::optional<std::string> first);

  /// What would be sent if `typed` were submitted now; nothing for a command.
  [[nodiscard]] std::optional<std::string> message_while_typing(std::string_view typed) const;

 private:
  enum class After : std::uint8_t { kGoOn, kLeave };
  using Make = std::function<Result<engine::Reply>(const engine::ReplyHooks&)>;

  void use(const TypedInput& input);
  void near_miss(const ChatLine& line);
  void command(const ChatLine& line);
  void send(const std::string& text);
  Status answer(const Make& make);
  engine::ReplyHooks hooks();
  void tell(const engine::Reply& reply);
  void end_turn();
  void fail(const Status& status);

#define COMMAND(id, name, aliases, argument, help) Status do_##id(const std::string& argument_text);
#include "chat_commands.def"
#undef COMMAND

  ChatLoopParts parts_;
  std::unique_ptr<ReplyReader> reader_;  // of the reply being drawn
  std::unique_ptr<ThoughtBudget> budget_;
  std::string file_text_;  // of /read
  std::string start_;      // what stands in the next line
  bool failed_ = false;
  bool incomplete_ = false;  // a reply was cut before its grammar ended
  bool answered_ = false;
  bool leave_ = false;
  int signal_ = 0;
  std::int64_t n_drawn_ = 0;
  std::int64_t n_prefilled_ = 0;
  double decode_seconds_ = 0;
  double prefill_seconds_ = 0;
};

/// The messages as /save writes them: {"messages": [{"role": ..., "content": ...}, ...]}.
std::string messages_to_json(std::span<const engine::Message> messages);
/// The other way; a bare array is taken too. kInvalidArgument: no such document.
Result<std::vector<engine::Message>> messages_from_json(std::string_view text);

}  // namespace minfer::app
