#include "chat_loop.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "signals.h"

namespace minfer::app {
int ChatLoop::run(std::optional<std::string> first) {
  const bool single = parts_.invocation.options.single_turn;
  // Where someone sits at the keys, a Ctrl+C that comes too late for a reply must end nothing.
  std::optional<StopTarget> target;
  if (parts_.input.interactive()) target.emplace(parts_.forward);
  set_patient(parts_.input.interactive());
  if (first) send(*first);
  while (!leave_ && signal_ == 0 && parts_.screen.status().ok() && !(single && answered_)) {
    const auto input = parts_.input.next(std::exchange(start_, {}));
    if (!input) break;
    use(*input);
  }
  if (signal_ == 0) signal_ = take_signal();
  if (signal_ != 0) return 128 + signal_;
  if (!parts_.screen.status().ok()) {
    parts_.screen.error(parts_.screen.status().message());
    return 1;
  }
  if (!single && parts_.input.interactive()) return 0;
  if (failed_) return 1;
  if (!incomplete_) return 0;
  return single ? kExitIncomplete : 1;
}

std::optional<std::string> ChatLoop::message_while_typing(std::string_view typed) const {
  const TypedInput input = finished_input(typed, parts_.invocation.options.multiline_input);
  if (input.literal) return file_text_ + input.text;
  const ChatLine line = classify_chat_line(input.text);
  if (line.kind != ChatLineKind::kMessage || input.text.starts_with('/')) return {};
  return file_text_ + line.text;
}

void ChatLoop::use(const TypedInput& input) {
  if (input.literal) return send(input.text);
  const ChatLine line = classify_chat_line(input.text);
  switch (line.kind) {
    case ChatLineKind::kMessage:
      return send(line.text);
    case ChatLineKind::kCommand:
      return command(line);
    case ChatLineKind::kNearMiss:
      return near_miss(line);
  }
}

void ChatLoop::near_miss(const ChatLine& line) {
  const auto key =
      parts_.input.ask(fmt::format("{} is no command. Run /{} (y), send the line as text (t), "
                                   "or edit it (any other key)? ",
                                   line.word, line.row->name));
  if (!key) {
    return fail(invalid_argument(
        fmt::format("{} is no command: did you mean /{}? A blank in front of it makes it text",
                    line.word, line.row->name)));
  }
  if (*key == 't') return send(line.text);
  if (*key != 'y') {
    start_ = line.text;
    return;
  }
  command(
      classify_chat_line(fmt::format("/{}{}", line.row->name, line.text.substr(line.word.size()))));
}

void ChatLoop::command(const ChatLine& line) {
  const std::string_view wanted = line.row->argument;
  const auto wrong = [&](std::string_view what) {
    fail(invalid_argument(
        fmt::format("{} {}; a blank in front of it makes it text", line.word, what)));
  };
  if (wanted.empty() && !line.text.empty()) return wrong("takes no argument");
  if (!wanted.empty() && !wanted.starts_with('[') && line.text.empty()) {
    return wrong(fmt::format("needs {}", wanted));
  }
  Status status;
  switch (line.row->command) {
#define COMMAND(id, name, aliases, argument, help) \
  case ChatCommand::k##id:                         \
    status = do_##id(line.text);                   \
    break;
#include "chat_commands.def"
#undef COMMAND
  }
  if (!status.ok()) fail(status);
}

void ChatLoop::send(const std::string& text) {
  const std::string files = std::exchange(file_text_, {});
  const std::string message = files + text;
  const Status status = answer(
      [&](const engine::ReplyHooks& hooks) { return parts_.conversation.send(message, hooks); });
  if (status.ok()) return;
  fail(status);
  // Kept, a file that is too long would go before every other message too.
  if (!files.empty()) parts_.screen.note("(what /read put in front of it is gone with it)");
}

engine::ReplyHooks ChatLoop::hooks() {
  engine::ReplyHooks hooks;
  hooks.on_prefill = [this](std::int32_t done, std::int32_t all) {
    parts_.screen.progress(all > 0 ? static_cast<double>(done) / all : 1);
  };
  hooks.on_dropped = [this](std::int32_t n) {
    parts_.screen.note(
        fmt::format("(the context is full: {} dropped)",
                    n == 1 ? "the oldest turn was" : fmt::format("the oldest {} turns were", n)));
  };
  hooks.on_begin = [this](std::span<const engine::TokenId> prompt) {
    ReplySinks sinks;
    sinks.answer = [this](std::string_view piece) { return parts_.screen.answer(piece); };
    sinks.thought = [this](std::string_view piece) { return parts_.screen.thought(piece); };
    reader_ = std::make_unique<ReplyReader>(parts_.shape, parts_.shape.start(prompt), nullptr, 0,
                                            std::move(sinks));
    auto end = parts_.shape.thought_end();
    budget_ = std::make_unique<ThoughtBudget>(
        parts_.invocation.options.reasoning_budget,
        end.ok() ? std::move(*end) : std::vector<engine::TokenId>());
  };
  hooks.forced = [this] {
    const bool thinks = reader_->in_thought();
    const auto token = budget_->next(thinks);
    parts_.set_answer_free(thinks || token.has_value());
    return token;
  };
  hooks.on_text = [this](std::string_view piece) { return reader_->feed(piece); };
  return hooks;
}

Status ChatLoop::answer(const Make& make) {
  std::optional<StopTarget> target;
  if (!parts_.input.interactive()) target.emplace(parts_.forward);
  if (received_signal() == 0) parts_.forward.clear_cancel();
  const Result<engine::Reply> reply = make(hooks());
  if (reader_ != nullptr) reader_->finish();
  reader_.reset();
  parts_.screen.end_reply();
  answered_ = true;
  if (reply.ok()) tell(*reply);
  end_turn();
  MINFER_RETURN_IF_ERROR(reply.status());
  return reply->finish == engine::FinishReason::kFailed ? reply->status : ok_status();
}

/// A signal that stopped the reply is dealt with, unless it is to end the program.
void ChatLoop::end_turn() {
  const int signal = take_signal();
  parts_.forward.clear_cancel();
  if (signal != 0 && !(signal == SIGINT && parts_.input.interactive())) signal_ = signal;
  if (!parts_.save) return;
  const Status saved = parts_.save();
  if (!saved.ok()) fail(saved);
}

void ChatLoop::tell(const engine::Reply& reply) {
  n_drawn_ += reply.n_tokens;
  n_prefilled_ += reply.n_prefill;
  decode_seconds_ += reply.decode_seconds;
  prefill_seconds_ += reply.prefill_seconds;
  if (reply.taken_back || reply.old_stays) {
    parts_.screen.note(fmt::format(
        "({}{})",
        reply.finish == engine::FinishReason::kFailed ? "" : "stopped before the reply began: ",
        reply.taken_back ? "the message is taken back" : "the old one stays"));
    return;
  }
  const double rate = reply.decode_seconds > 0 ? reply.n_tokens / reply.decode_seconds : 0;
  std::string line =
      fmt::format("[{} tokens, {:.1f} tok/s | prefill {} in {:.2f} s | context {} of {}",
                  reply.n_tokens, rate, reply.n_prefill, reply.prefill_seconds,
                  reply.n_prompt + reply.n_tokens, parts_.conversation.source().n_ctx());
  if (reply.finish == engine::FinishReason::kCancelled) line += " | stopped";
  if (reply.finish == engine::FinishReason::kLength) line += " | cut at --predict";
  if (reply.finish == engine::FinishReason::kContext) line += " | cut: the context is full";
  parts_.screen.remark(line + "]");
  if (reply.incomplete) {
    incomplete_ = true;
    parts_.screen.error(
        incomplete_note(parts_.grammar, reply.finish == engine::FinishReason::kContext));
  }
}

void ChatLoop::fail(const Status& status) {
  failed_ = true;
  parts_.screen.error(status.message());
}

}  // namespace minfer::app
