// minfer chat MODEL: a conversation, on a terminal or from a pipe.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "chat_input.h"
#include "chat_loop.h"
#include "chat_screen.h"
#include "chat_session.h"
#include "commands.h"
#include "sampling_settings.h"
#include "signals.h"
#include "terminal_mode.h"

namespace minfer::app {
namespace {

using Clock = std::chrono::steady_clock;

/// Prefills what is being typed, in steps so short that no key waits for long.
class TypeAhead {
 public:
  TypeAhead(engine::Conversation& conversation, const ChatLoop& loop)
      : conversation_(conversation), loop_(loop) {}

  /// True: there is more to do.
  bool step(std::string_view typed) {
    const auto message = loop_.message_while_typing(typed);
    if (!message) return false;
    const bool changed = *message != message_;
    message_ = *message;
    const auto start = Clock::now();
    const auto more = conversation_.prefill_ahead(*message, changed ? 1 : n_tokens_);
    const std::chrono::duration<double> spent = Clock::now() - start;
    if (changed) {
      // Of a long text, it takes a while to make tokens alone.
      pause_ = std::clamp(static_cast<int>(spent.count() * 5000), kLeastPause, kMostPause);
      return more.ok() && *more;
    }
    if (spent.count() > kMostSeconds) n_tokens_ = std::max(kFewest, n_tokens_ / 2);
    if (spent.count() < kMostSeconds / 2) n_tokens_ = std::min(kMost, n_tokens_ * 2);
    // What is wrong with it will be said when it is sent.
    return more.ok() && *more;
  }

  /// How long no key should have come before step() is called for a new text, in milliseconds: so
  /// long that typing is not held up.
  [[nodiscard]] int pause() const { return pause_; }

 private:
  // A key may wait for so long. Few tokens at once would take nearly as long as many.
  static constexpr double kMostSeconds = 0.15;
  static constexpr std::int32_t kFewest = 16;
  static constexpr std::int32_t kMost = 512;
  static constexpr int kLeastPause = 20;  // milliseconds
  static constexpr int kMostPause = 1500;

  engine::Conversation& conversation_;
  const ChatLoop& loop_;
  std::int32_t n_tokens_ = 64;
  std::string message_;
  int pause_ = kLeastPause;
};

History open_history(const Options& options) {
  const std::string path = options.no_history ? std::string() : history_path();
  if (path.empty()) return {};
  Result<History> history = History::open(path);
  if (history.ok()) return std::move(*history);
  if (!options.quiet) print_error(history.status().message());
  return {};
}

}  // namespace

Result<int> chat_command(const Invocation& given, const EnvSwitches& env) {
  Invocation invocation = given;
  const Options& options = invocation.options;
  // What is wrong with the options is said before the model is loaded.
  MINFER_RETURN_IF_ERROR(sampler_settings(options).status());
  const bool editing = given.command != kRun && is_terminal(STDOUT_FILENO) && open_terminal();
  set_terminal_mode(TerminalMode::kBusy);  // what is typed while loading is for the editor
  MINFER_ASSIGN_OR_RETURN(const std::unique_ptr<ChatSession> chat,
                          ChatSession::open(invocation, env));
  engine::Conversation& conversation = chat->conversation();
  conversation.options().cancel = &stop_flag();

  ChatScreen screen({.color = use_color(options),
                     .quiet = options.quiet,
                     .hide_thoughts = options.hide_reasoning,
                     .bare = given.command == kRun});
  History history = editing ? open_history(options) : History();
  print_header(chat->loaded(), chat->plan(), options);

  std::unique_ptr<TypeAhead> type_ahead;
  ReaderOptions reader;
  reader.editor.multiline = options.multiline_input;
  reader.color = screen.color();
  if (!options.no_typeahead) {
    reader.idle = [&type_ahead](std::string_view typed) { return type_ahead->step(typed); };
    reader.pause = [&type_ahead] { return type_ahead->pause(); };
  }
  const std::unique_ptr<ChatInput> input =
      editing ? make_terminal_input(reader, history) : make_line_input(options.multiline_input);
  ChatLoop loop({conversation, chat->forward(), screen, *input, chat->shape(), chat->grammar(),
                 invocation,
                 [&chat](const Invocation& changed) { return chat->set_sampling(changed); },
                 [&chat] { return chat->save(); },
                 [&chat]() -> const sampling::SamplerOptions& { return chat->sampling(); },
                 [&chat](bool free) { chat->set_answer_free(free); }});
  type_ahead = std::make_unique<TypeAhead>(conversation, loop);
  if (editing) screen.remark("/help lists the commands; Ctrl+D leaves");
  const int status = loop.run(options.has_prompt ? std::optional(options.prompt) : std::nullopt);
  restore_terminal();
  return status;
}

}  // namespace minfer::app
