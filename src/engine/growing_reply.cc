#include "engine/growing_reply.h"

#include <algorithm>
#include <chrono>

namespace minfer::engine {

GrowingReply::GrowingReply(sampling::Sampler& sampler, TokenBytes& bytes,
                           const GenerateOptions& options, std::int32_t n_ctx)
    : sampler_(sampler), bytes_(bytes), options_(options), n_ctx_(n_ctx), stops_(options.stops) {
  if (options.n_predict == 0) end(FinishReason::kLength);
}

void GrowingReply::begin(std::span<const TokenId> prompt) {
  // -n may be any number: no more tokens come than the context holds.
  const auto cap = static_cast<std::size_t>(options_.n_predict > 0 ? options_.n_predict : 1024);
  result_.ids.reserve(std::min(cap, static_cast<std::size_t>(n_ctx_)));
  sampler_.seed_window(options_.window.empty() ? prompt : options_.window);
}

/// Draws last_, or takes a forced token. False: the reply has ended.
bool GrowingReply::draw(std::span<const float> logits, std::int32_t cursor) {
  using Clock = std::chrono::steady_clock;
  if (options_.forced) {
    if (const auto token = options_.forced()) {
      last_ = *token;
      return true;
    }
  }
  const auto start = Clock::now();
  const auto banned = options_.ignore_eos ? options_.eog : std::span<const TokenId>();
  const auto drawn = sampler_.sample(logits, cursor, banned);
  last_sample_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  result_.sample_seconds += last_sample_seconds_;
  if (!drawn.ok()) {
    fail(drawn.status());
    return false;
  }
  last_ = *drawn;
  return true;
}

bool GrowingReply::step(std::span<const float> logits, std::int32_t cursor) {
  const bool cancelled =
      options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
  if (cancelled) return end(FinishReason::kCancelled);
  // A drawn token takes the position behind the rows in the KV.
  if (cursor >= n_ctx_) return end(FinishReason::kContext);
  if (!draw(logits, cursor)) return true;
  if (std::find(options_.eog.begin(), options_.eog.end(), last_) != options_.eog.end()) {
    result_.pending = {last_};
    return end(FinishReason::kEndOfGeneration);
  }
  result_.ids.push_back(last_);
  const Status accepted = sampler_.accept(last_);
  if (!accepted.ok()) {
    fail(accepted);
    return true;
  }
  const bool stopped = show(last_);
  if (!finished_ && stopped) end(FinishReason::kStopString);
  if (!finished_ && static_cast<std::int32_t>(result_.ids.size()) == options_.n_predict) {
    end(FinishReason::kLength);
  }
  if (!finished_ && cursor + 1 >= n_ctx_) end(FinishReason::kContext);
  if (finished_) result_.pending = {last_};
  return finished_;
}

/// Passes the token's bytes through the stop matcher; true when a stop string was completed.
bool GrowingReply::show(TokenId token) {
  token_bytes_.clear();
  bytes_.append(token, token_bytes_);
  safe_.clear();
  const bool stopped = stops_.feed(token_bytes_, safe_);
  emit(safe_);
  return stopped;
}

void GrowingReply::emit(std::string_view safe) {
  result_.shown_bytes += safe.size();
  characters_.clear();
  utf8_.feed(safe, characters_);
  hand_out();
}

void GrowingReply::hand_out() {
  if (characters_.empty()) return;
  result_.text += characters_;
  if (options_.on_text && !options_.on_text(characters_)) end(FinishReason::kCancelled);
}

bool GrowingReply::end(FinishReason reason) {
  result_.finish = reason;
  finished_ = true;
  return true;
}

void GrowingReply::fail(const Status& status) {
  if (status.code() == StatusCode::kCancelled) {
    end(FinishReason::kCancelled);
  } else {
    end(FinishReason::kFailed);
    result_.status = status;
  }
}

GenerateResult GrowingReply::finish() {
  safe_.clear();
  if (result_.finish != FinishReason::kStopString) stops_.flush(safe_);
  result_.shown_bytes += safe_.size();
  characters_.clear();
  utf8_.feed(safe_, characters_);
  utf8_.flush(characters_);
  hand_out();
  return std::move(result_);
}

}  // namespace minfer::engine
