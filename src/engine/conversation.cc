#include "engine/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/utf8.h"

namespace minfer::engine {
namespace {

std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

/// A reply as far as it was shown.
struct ShownReply {
  std::size_t n_whole = 0;  // tokens wholly in it
  std::string text;         // its bytes, whole characters
  std::string straddling;   // the part of `text` in the token that it ends in
};

ShownReply shown_reply(TokenBytes& bytes, const GenerateResult& result) {
  ShownReply shown;
  std::string raw;
  std::vector<std::size_t> ends;
  for (const TokenId id : result.ids) {
    bytes.append(id, raw);
    ends.push_back(raw.size());
  }
  raw.resize(std::min(result.shown_bytes, raw.size()));
  raw.resize(raw.size() - incomplete_tail(raw));
  while (shown.n_whole < ends.size() && ends[shown.n_whole] <= raw.size()) ++shown.n_whole;
  const std::size_t whole_end = shown.n_whole > 0 ? ends[shown.n_whole - 1] : 0;
  shown.straddling = raw.substr(whole_end);
  shown.text = replace_invalid_utf8(raw);
  return shown;
}

}  // namespace

struct Conversation::Branch {
  std::unique_ptr<BranchingSource> source;
  ConversationState state;
};

Conversation::Conversation(ConversationParts parts, std::unique_ptr<BranchingSource> source,
                           GenerateOptions options)
    : parts_(std::move(parts)),
      source_(std::move(source)),
      options_(std::move(options)),
      prompt_(*parts_.writer, *parts_.encoder) {}

Conversation::~Conversation() = default;

bool Conversation::cancelled() const {
  return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
}

std::size_t Conversation::first_turn() const {
  return !messages_.empty() && messages_.front().role == "system" ? 1 : 0;
}

std::int32_t Conversation::n_turns() const {
  return static_cast<std::int32_t>(
      std::ranges::count_if(messages_, [](const Message& m) { return m.role == "user"; }));
}

std::size_t Conversation::turn_begin(std::int32_t turn) const {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].role == "user" && --turn == 0) return i;
  }
  return messages_.size();
}

std::string_view Conversation::system() const {
  return first_turn() == 1 ? std::string_view(messages_.front().content) : std::string_view();
}

void Conversation::set_system(std::string text) {
  if (first_turn() == 1) messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), {"system", std::move(text), {}});
}

void Conversation::clear() { static_cast<void>(go_to(0)); }

void Conversation::set_messages(std::vector<Message> messages) {
  messages_ = std::move(messages);
  pending_.clear();
  alternatives_.clear();
  attempt_ = 0;
}

Status Conversation::go_to(std::int32_t turn) {
  if (turn < 0 || turn > n_turns()) {
    return out_of_range(
        fmt::format("there is no turn {}: the conversation has {}", turn, n_turns()));
  }
  if (turn == n_turns()) return ok_status();
  const std::size_t end = turn_begin(turn + 1);
  set_messages(std::vector<Message>(messages_.begin(),
                                    messages_.begin() + static_cast<std::ptrdiff_t>(end)));
  return ok_status();
}

Result<std::string> Conversation::take_back(std::int32_t turn) {
  if (turn < 1 || turn > n_turns()) {
    return n_turns() == 0 ? out_of_range("the conversation has no turn yet")
                          : out_of_range(fmt::format("there is no turn {}: the conversation has {}",
                                                     turn, n_turns()));
  }
  std::string text = messages_[turn_begin(turn)].content;
  MINFER_RETURN_IF_ERROR(go_to(turn - 1));
  return text;
}

std::vector<Message> Conversation::without_oldest(std::int32_t n) const {
  std::vector<Message> kept(messages_.begin(),
                            messages_.begin() + static_cast<std::ptrdiff_t>(turn_begin(1)));
  kept.insert(kept.end(), messages_.begin() + static_cast<std::ptrdiff_t>(turn_begin(n + 1)),
              messages_.end());
  return kept;
}

/// The prompt of the messages. Where it leaves the reply no room, the oldest turns go until a
/// quarter of the context is free.
Result<std::vector<TokenId>> Conversation::fitted_prompt(std::int32_t& n_dropped) {
  const auto n_ctx = static_cast<std::size_t>(source_->n_ctx());
  n_dropped = 0;
  MINFER_ASSIGN_OR_RETURN(std::vector<TokenId> ids, prompt_.ids(messages_));
  if (ids.size() + std::max<std::size_t>(1, n_ctx / 16) <= n_ctx) return ids;
  const std::size_t wanted = n_ctx - n_ctx / 4;
  if (ids.size() > wanted && n_turns() > 1) {
    // Each turn that goes shortens the prompt; to try all of them takes too long where many go.
    std::int32_t least = 1;
    std::int32_t most = n_turns() - 1;
    while (least < most) {
      const std::int32_t middle = least + (most - least) / 2;
      MINFER_ASSIGN_OR_RETURN(ids, prompt_.ids(without_oldest(middle)));
      if (ids.size() > wanted) {
        least = middle + 1;
      } else {
        most = middle;
      }
    }
    messages_ = without_oldest(least);
    n_dropped = least;
    MINFER_ASSIGN_OR_RETURN(ids, prompt_.ids(messages_));
  }
  if (ids.size() < n_ctx) return ids;
  return out_of_range(
      fmt::format("the message does not fit: with the system text it makes {} tokens, and the "
                  "context has {} (--ctx-size)",
                  ids.size(), n_ctx));
}

/// Cuts the stream back to what it has in common with `prompt`, the last token of which is always
/// run, for its logits.
Status Conversation::settle(std::span<const TokenId> prompt) {
  const std::size_t keep = std::min(common_prefix(stream_, prompt), prompt.size() - 1);
  if (keep < stream_.size()) {
    MINFER_RETURN_IF_ERROR(source_->truncate(static_cast<std::int32_t>(keep)));
  }
  stream_.resize(static_cast<std::size_t>(source_->cursor()));
  return ok_status();
}

/// Runs all of the delta but what the reply's first forward takes.
Status Conversation::prefill(std::span<const TokenId> prompt, const ReplyHooks& hooks) {
  const auto batch = static_cast<std::size_t>(source_->max_rows());
  const auto all = static_cast<std::int32_t>(prompt.size() - stream_.size());
  std::int32_t done = 0;
  while (prompt.size() - stream_.size() > batch) {
    if (hooks.on_prefill) hooks.on_prefill(done, all);
    const auto chunk = prompt.subspan(stream_.size(), batch);
    const Status status = source_->extend(chunk);
    stream_.assign(prompt.begin(), prompt.begin() + source_->cursor());
    MINFER_RETURN_IF_ERROR(status);
    done += static_cast<std::int32_t>(batch);
  }
  if (hooks.on_prefill) hooks.on_prefill(done, all);
  return ok_status();
}

void Conversation::take_reply(std::span<const TokenId> prompt, const GenerateResult& result,
                              Reply& reply) {
  const auto bytes = parts_.token_bytes();
  ShownReply shown = shown_reply(*bytes, result);
  Message message{
      "assistant",
      std::move(shown.text),
      {result.ids.begin(), result.ids.begin() + static_cast<std::ptrdiff_t>(shown.n_whole)}};
  if (!shown.straddling.empty()) {
    const chat::PromptSpan rest{shown.straddling, false, -1};
    const auto ids = parts_.encoder->encode({&rest, 1}, false);
    if (ids.ok()) message.ids.insert(message.ids.end(), ids->begin(), ids->end());
  }
  const std::size_t n_kept = prompt.size() + shown.n_whole;
  if (static_cast<std::size_t>(source_->cursor()) > n_kept) {
    const Status cut = source_->truncate(static_cast<std::int32_t>(n_kept));
    if (!cut.ok()) reply.status = cut;
  }
  stream_.assign(prompt.begin(), prompt.end());
  stream_.insert(stream_.end(), result.ids.begin(), result.ids.end());
  stream_.resize(static_cast<std::size_t>(source_->cursor()));

  std::vector<TokenId> whole(prompt.begin(), prompt.end());
  whole.insert(whole.end(), message.ids.begin(), message.ids.end());
  const std::size_t n_run = std::min(stream_.size(), whole.size());
  pending_.assign(whole.begin() + static_cast<std::ptrdiff_t>(n_run), whole.end());
  reply.text = message.content;
  messages_.push_back(std::move(message));
  if (result.finish == FinishReason::kEndOfGeneration) {
    pending_.push_back(result.pending.back());
  } else if (const auto behind = prompt_.ids_behind(messages_);
             !behind.empty() && std::ranges::find(options_.eog, behind[0]) != options_.eog.end()) {
    pending_.push_back(behind[0]);
  }
}

Result<Reply> Conversation::answer(std::uint32_t attempt, const ReplyHooks& hooks) {
  Reply reply;
  MINFER_ASSIGN_OR_RETURN(const std::vector<TokenId> prompt, fitted_prompt(reply.n_dropped_turns));
  MINFER_ASSIGN_OR_RETURN(sampling::Sampler sampler, parts_.sampler(attempt));
  if (reply.n_dropped_turns > 0 && hooks.on_dropped) hooks.on_dropped(reply.n_dropped_turns);
  MINFER_RETURN_IF_ERROR(settle(prompt));
  pending_.clear();
  reply.n_prompt = static_cast<std::int32_t>(prompt.size());
  reply.n_prefill = static_cast<std::int32_t>(prompt.size() - stream_.size());
  attempt_ = attempt;
  if (hooks.on_begin) hooks.on_begin(prompt);

  GenerateResult result;
  const auto start = std::chrono::steady_clock::now();
  const Status status = prefill(prompt, hooks);
  const std::chrono::duration<double> prefilled = std::chrono::steady_clock::now() - start;
  if (status.ok()) {
    std::unique_ptr<LogitsSource> ahead;
    if (parts_.ahead) ahead = parts_.ahead(*source_, stream_);
    GenerateOptions options = options_;
    options.window = prompt;
    options.on_text = hooks.on_text;
    options.forced = hooks.forced;
    const auto bytes = parts_.token_bytes();
    result = generate(ahead != nullptr ? *ahead : *source_, sampler, *bytes,
                      std::span(prompt).subspan(stream_.size()), options);
  } else if (status.code() == StatusCode::kCancelled || cancelled()) {
    result.finish = FinishReason::kCancelled;
  } else {
    result.status = status;
  }
  reply.finish = result.finish;
  const bool cut =
      result.finish == FinishReason::kLength || result.finish == FinishReason::kContext;
  const sampling::Constraint* constraint = sampler.constraint();
  reply.incomplete = cut && constraint != nullptr && !constraint->is_complete();
  reply.status = result.status;
  reply.n_tokens = static_cast<std::int32_t>(result.ids.size());
  reply.prefill_seconds = prefilled.count() + result.prefill_seconds;
  reply.decode_seconds = result.decode_seconds;
  take_reply(prompt, result, reply);
  return reply;
}

Result<Reply> Conversation::send(std::string text, const ReplyHooks& hooks) {
  const std::vector<Message> before = messages_;
  messages_.push_back({"user", std::move(text), {}});
  auto reply = answer(0, hooks);
  if (!reply.ok()) {
    messages_ = before;
    return reply.status();
  }
  alternatives_.clear();
  if (reply->shows_nothing()) {
    messages_.resize(messages_.size() - 2);
    pending_.clear();
    reply->taken_back = true;
  }
  return reply;
}

void Conversation::put_back(Message reply) {
  messages_.back() = std::move(reply);
  pending_.clear();
}

Result<Reply> Conversation::regenerate(const ReplyHooks& hooks) {
  if (messages_.empty() || messages_.back().role != "assistant") {
    return invalid_argument("there is no reply to draw again");
  }
  const Message before = messages_.back();
  messages_.pop_back();
  auto reply = answer(attempt_ + 1, hooks);
  if (!reply.ok()) {
    messages_.push_back(before);
  } else if (reply->shows_nothing()) {
    put_back(before);
    reply->old_stays = true;
  }
  return reply;
}

Result<std::vector<Reply>> Conversation::alternatives(
    std::int32_t n, const ReplyHooks& hooks, const std::function<void(std::int32_t)>& begin) {
  if (messages_.empty() || messages_.back().role != "assistant") {
    return invalid_argument("there is no message to answer again");
  }
  const Message before = messages_.back();
  std::vector<Reply> replies;
  std::vector<Message> drawn;
  Status failure;
  for (std::int32_t i = 0; i < n && !cancelled(); ++i) {
    messages_.pop_back();
    if (begin) begin(i + 1);
    auto reply = answer(static_cast<std::uint32_t>(i), hooks);
    if (!reply.ok()) {
      messages_.push_back(before);
      return reply.status();
    }
    if (reply->shows_nothing()) {
      put_back(drawn.empty() ? before : drawn.back());
      failure = reply->status;
      break;
    }
    drawn.push_back(messages_.back());
    replies.push_back(std::move(*reply));
  }
  if (!drawn.empty()) alternatives_ = std::move(drawn);
  MINFER_RETURN_IF_ERROR(failure);
  return replies;
}

Status Conversation::pick(std::int32_t n) {
  if (alternatives_.empty()) return invalid_argument("there are no alternatives: draw them first");
  if (n < 1 || static_cast<std::size_t>(n) > alternatives_.size()) {
    return out_of_range(
        fmt::format("there is no alternative {}: choose one of 1 to {}", n, alternatives_.size()));
  }
  put_back(alternatives_[static_cast<std::size_t>(n) - 1]);
  return ok_status();
}

Status Conversation::fork(const std::string& name) {
  if (name == branch_ || branches_.contains(name)) {
    return invalid_argument(fmt::format("there is a branch \"{}\" already", name));
  }
  MINFER_ASSIGN_OR_RETURN(auto source, source_->fork());
  branches_[branch_] = {std::move(source_), state()};
  source_ = std::move(source);
  branch_ = name;
  stream_.resize(static_cast<std::size_t>(source_->cursor()));
  return ok_status();
}

Status Conversation::switch_to(const std::string& name) {
  if (name == branch_) return ok_status();
  const auto found = branches_.find(name);
  if (found == branches_.end()) return not_found(fmt::format("there is no branch \"{}\"", name));
  Branch branch = std::move(found->second);
  branches_.erase(found);
  branches_[branch_] = {std::move(source_), state()};
  source_ = std::move(branch.source);
  branch_ = name;
  restore(std::move(branch.state));
  return ok_status();
}

std::vector<std::string> Conversation::branches() const {
  std::vector<std::string> names = {branch_};
  for (const auto& [name, branch] : branches_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

Result<bool> Conversation::prefill_ahead(std::string_view text, std::int32_t max_tokens) {
  if (text != ahead_text_ || messages_ != ahead_messages_ || ahead_ids_.empty()) {
    ahead_messages_ = messages_;
    std::vector<Message> messages = messages_;
    messages.push_back({"user", std::string(text), {}});
    auto ids = prompt_.ids_while_typing(messages);
    // What is wrong with it will be said when it is sent.
    ahead_ids_ = ids.ok() ? std::move(*ids) : std::vector<TokenId>();
    ahead_text_ = text;
  }
  const std::size_t common = common_prefix(stream_, ahead_ids_);
  if (common == ahead_ids_.size()) return false;
  if (ahead_ids_.size() + 1 >= static_cast<std::size_t>(source_->n_ctx())) return false;
  if (common < stream_.size()) {
    MINFER_RETURN_IF_ERROR(source_->truncate(static_cast<std::int32_t>(common)));
    stream_.resize(static_cast<std::size_t>(source_->cursor()));
  }
  const std::size_t n = std::min(ahead_ids_.size() - stream_.size(),
                                 static_cast<std::size_t>(std::max(max_tokens, 1)));
  const auto chunk = std::span(ahead_ids_).subspan(stream_.size(), n);
  const Status status = source_->extend(chunk);
  stream_.assign(ahead_ids_.begin(), ahead_ids_.begin() + source_->cursor());
  pending_.clear();
  MINFER_RETURN_IF_ERROR(status);
  return stream_.size() < ahead_ids_.size();
}

ConversationState Conversation::state() const { return {messages_, stream_, pending_, attempt_}; }

void Conversation::restore(ConversationState state) {
  messages_ = std::move(state.messages);
  stream_ = std::move(state.stream);
  pending_ = std::move(state.pending);
  attempt_ = state.attempt;
  alternatives_.clear();
  stream_.resize(std::min(stream_.size(), static_cast<std::size_t>(source_->cursor())));
}

}  // namespace minfer::engine
