#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/utf8.h"
#include "engine/stop_matcher.h"

namespace minfer::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One run of the loop: the state that its steps share.
class Run {
 public:
  Run(LogitsSource& source, sampling::Sampler& sampler, TokenBytes& bytes,
      const GenerateOptions& options)
      : source_(source),
        sampler_(sampler),
        bytes_(bytes),
        options_(options),
        stops_(options.stops) {}

  GenerateResult operator()(std::span<const TokenId> prompt) {
    if (options_.n_predict == 0) {
      result_.finish = FinishReason::kLength;
      return std::move(result_);
    }
    // -n may be any number: no more tokens come than the context holds.
    const auto cap = static_cast<std::size_t>(options_.n_predict > 0 ? options_.n_predict : 1024);
    result_.ids.reserve(std::min(cap, static_cast<std::size_t>(source_.n_ctx())));
    sampler_.seed_window(options_.window.empty() ? prompt : options_.window);
    const auto start = Clock::now();
    const std::int32_t before = source_.cursor();
    auto logits = prefill(prompt);
    result_.prefill_seconds = seconds_since(start);
    result_.n_prefill = source_.cursor() - before;
    const auto decode_start = Clock::now();
    while (logits.ok() && !step(*logits)) logits = forward_last();
    result_.decode_seconds = seconds_since(decode_start);
    if (!logits.ok()) fail(logits.status());
    // The last token is drawn and not run.
    if (result_.ids.size() > n_timed_) trace_timing(0.0);
    const Status settled = source_.set_horizon(source_.cursor());
    if (!settled.ok()) fail(settled);
    close();
    return std::move(result_);
  }

 private:
  Result<std::span<const float>> prefill(std::span<const TokenId> prompt) {
    // The last token of a capped reply is not run, nor one for the context's last position.
    std::int64_t horizon = std::int64_t{source_.n_ctx()} - 1;
    if (options_.n_predict > 0) {
      horizon = std::min(horizon, source_.cursor() + static_cast<std::int64_t>(prompt.size()) +
                                      options_.n_predict - 1);
    }
    MINFER_RETURN_IF_ERROR(source_.set_horizon(static_cast<std::int32_t>(horizon)));
    return source_.advance(prompt);
  }

  /// Draws one token and passes the gates; true when the reply has ended.
  bool step(std::span<const float> logits) {
    if (cancelled()) return end(FinishReason::kCancelled);
    // A drawn token takes the position behind the rows in the KV.
    if (source_.cursor() >= source_.n_ctx()) return end(FinishReason::kContext);
    const auto start = Clock::now();
    const auto banned = options_.ignore_eos ? options_.eog : std::span<const TokenId>();
    const auto drawn = sampler_.sample(logits, source_.cursor(), banned);
    last_sample_seconds_ = seconds_since(start);
    result_.sample_seconds += last_sample_seconds_;
    if (!drawn.ok()) {
      fail(drawn.status());
      return true;
    }
    last_ = *drawn;
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
    if (stopped || finished_) result_.pending = {last_};
    if (finished_) return true;
    if (stopped) return end(FinishReason::kStopString);
    if (static_cast<std::int32_t>(result_.ids.size()) == options_.n_predict) {
      result_.pending = {last_};
      return end(FinishReason::kLength);
    }
    if (source_.cursor() + 1 >= source_.n_ctx()) {
      result_.pending = {last_};
      return end(FinishReason::kContext);
    }
    return false;
  }

  Result<std::span<const float>> forward_last() {
    const auto start = Clock::now();
    auto logits = source_.advance({&last_, 1});
    if (logits.ok()) ++result_.n_decode_steps;
    trace_timing(seconds_since(start));
    return logits;
  }

  /// MINFER_TIMING's line for the newest token.
  void trace_timing(double forward_seconds) {
    n_timed_ = result_.ids.size();
    if (!options_.trace_timing) return;
    const double both = forward_seconds + last_sample_seconds_;
    std::fprintf(stderr, "token %zu: sample %.3f ms (%.1f%%), forward %.3f ms (%.1f%%)\n", n_timed_,
                 last_sample_seconds_ * 1e3, last_sample_seconds_ / both * 100,
                 forward_seconds * 1e3, forward_seconds / both * 100);
  }

  /// Passes the token's bytes through the stop matcher; true when a stop string was completed.
  bool show(TokenId token) {
    token_bytes_.clear();
    bytes_.append(token, token_bytes_);
    safe_.clear();
    const bool stopped = stops_.feed(token_bytes_, safe_);
    emit(safe_);
    return stopped;
  }

  void emit(std::string_view safe) {
    result_.shown_bytes += safe.size();
    characters_.clear();
    utf8_.feed(safe, characters_);
    hand_out();
  }

  void hand_out() {
    if (characters_.empty()) return;
    result_.text += characters_;
    if (options_.on_text && !options_.on_text(characters_)) {
      result_.finish = FinishReason::kCancelled;
      finished_ = true;
    }
  }

  void close() {
    safe_.clear();
    if (result_.finish != FinishReason::kStopString) stops_.flush(safe_);
    result_.shown_bytes += safe_.size();
    characters_.clear();
    utf8_.feed(safe_, characters_);
    utf8_.flush(characters_);
    hand_out();
  }

  bool end(FinishReason reason) {
    result_.finish = reason;
    finished_ = true;
    return true;
  }

  void fail(const Status& status) {
    if (status.code() == StatusCode::kCancelled) {
      result_.finish = FinishReason::kCancelled;
    } else {
      result_.finish = FinishReason::kFailed;
      result_.status = status;
    }
    finished_ = true;
  }

  [[nodiscard]] bool cancelled() const {
    return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
  }

  LogitsSource& source_;
  sampling::Sampler& sampler_;
  TokenBytes& bytes_;
  const GenerateOptions& options_;
  StopMatcher stops_;
  Utf8Gate utf8_;
  GenerateResult result_;
  bool finished_ = false;
  TokenId last_ = 0;
  double last_sample_seconds_ = 0;
  std::size_t n_timed_ = 0;  // tokens that MINFER_TIMING has told of
  std::string token_bytes_, safe_, characters_;
};

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndOfGeneration:
    case FinishReason::kStopString:
      return "stop";
    case FinishReason::kLength:
    case FinishReason::kContext:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kFailed:
      return "error";
  }
  return "error";
}

GenerateResult generate(LogitsSource& source, sampling::Sampler& sampler, TokenBytes& bytes,
                        std::span<const TokenId> prompt, const GenerateOptions& options) {
  return Run(source, sampler, bytes, options)(prompt);
}

}  // namespace minfer::engine
