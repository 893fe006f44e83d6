#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/growing_reply.h"

namespace minfer::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// generate(): a reply, and the source that its tokens are run in.
class Run {
 public:
  Run(LogitsSource& source, sampling::Sampler& sampler, TokenBytes& bytes,
      const GenerateOptions& options)
      : source_(source), reply_(sampler, bytes, options, source.n_ctx()), options_(options) {}

  GenerateResult operator()(std::span<const TokenId> prompt) {
    if (options_.n_predict == 0) return reply_.finish();
    reply_.begin(prompt);
    GenerateResult times;
    const auto start = Clock::now();
    const std::int32_t before = source_.cursor();
    auto logits = prefill(prompt);
    times.prefill_seconds = seconds_since(start);
    times.n_prefill = source_.cursor() - before;
    const auto decode_start = Clock::now();
    while (logits.ok() && !reply_.step(*logits, source_.cursor())) {
      logits = forward_last(times.n_decode_steps);
    }
    times.decode_seconds = seconds_since(decode_start);
    if (!logits.ok()) reply_.fail(logits.status());
    // The last token is drawn and not run.
    if (reply_.n_drawn() > n_timed_) trace_timing(0.0);
    const Status settled = source_.set_horizon(source_.cursor());
    if (!settled.ok()) reply_.fail(settled);
    GenerateResult result = reply_.finish();
    result.prefill_seconds = times.prefill_seconds;
    result.n_prefill = times.n_prefill;
    result.decode_seconds = times.decode_seconds;
    result.n_decode_steps = times.n_decode_steps;
    return result;
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

  Result<std::span<const float>> forward_last(std::int32_t& n_steps) {
    const auto start = Clock::now();
    const TokenId last = reply_.last();
    auto logits = source_.advance({&last, 1});
    if (logits.ok()) ++n_steps;
    trace_timing(seconds_since(start));
    return logits;
  }

  /// MINFER_TIMING's line for the newest token.
  void trace_timing(double forward_seconds) {
    n_timed_ = reply_.n_drawn();
    if (!options_.trace_timing) return;
    const double sample_seconds = reply_.last_sample_seconds();
    const double both = forward_seconds + sample_seconds;
    std::fprintf(stderr, "token %zu: sample %.3f ms (%.1f%%), forward %.3f ms (%.1f%%)\n", n_timed_,
                 sample_seconds * 1e3, sample_seconds / both * 100, forward_seconds * 1e3,
                 forward_seconds / both * 100);
  }

  LogitsSource& source_;
  GrowingReply reply_;
  const GenerateOptions& options_;
  std::size_t n_timed_ = 0;  // tokens that MINFER_TIMING has told of
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
