// The decode loop: prompt ids in, text out.
//
// Sample first, forward last. The gates stand in this order: the cap of -n, the end of the context,
// end of generation (before the token is appended), a stop string. No forward is run for a token
// that nobody reads: -n 100 is one prefill and 99 decode steps. The loop knows nothing of
// speculation: a source may answer a step from rows that it ran ahead (engine/speculation.h).
// Thread-safety: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/logits_source.h"
#include "sampling/sampler.h"

namespace minfer::engine {

/// Turns drawn tokens into bytes; what it hands out over a reply joins to the reply's bytes.
class TokenBytes {
 public:
  virtual ~TokenBytes() = default;
  /// Appends the bytes of `token` (of nothing for a control token) to `out`.
  virtual void append(TokenId token, std::string& out) = 0;
};

enum class FinishReason : std::uint8_t {
  kEndOfGeneration,  // the model ended its turn
  kStopString,
  kLength,     // -n tokens were drawn
  kContext,    // prompt and reply fill the context
  kCancelled,  // Ctrl+C
  kFailed,     // see GenerateResult::status
};

/// "stop", "length", ... as the JSON output names them.
std::string_view finish_reason_name(FinishReason reason);

struct GenerateOptions {
  std::int32_t n_predict = -1;  // -1: until the model ends
  bool ignore_eos = false;      // end-of-generation tokens cannot be drawn
  std::vector<std::string> stops;
  std::span<const TokenId> eog;  // end-of-generation tokens
  /// What the penalty window starts with, where it is more than the prompt given to generate(): the
  /// tokens before the reply.
  std::span<const TokenId> window;
  const std::atomic<bool>* cancel = nullptr;
  /// Asked before each draw; what it gives is taken in place of a drawn token.
  std::function<std::optional<TokenId>()> forced;
  bool trace_timing = false;  // MINFER_TIMING: a line a token on stderr
  /// Whole UTF-8 characters that are safe to show. false: the reader is gone, stop.
  std::function<bool(std::string_view)> on_text;
};

struct GenerateResult {
  FinishReason finish = FinishReason::kFailed;
  Status status;                 // not OK only with kFailed
  std::vector<TokenId> ids;      // drawn and shown or held; without the end-of-generation token
  std::vector<TokenId> pending;  // decided but not run: the last token, the end-of-turn token
  std::string text;              // everything that on_text got
  std::size_t shown_bytes = 0;   // of the bytes of `ids`: those that are in `text`, mended or not
  double prefill_seconds = 0;
  double decode_seconds = 0;  // forwards and draws behind the first token
  double sample_seconds = 0;
  std::int32_t n_prefill = 0;
  std::int32_t n_decode_steps = 0;  // tokens run behind the prompt, one after another or ahead
};

/// Prefills `prompt` behind the source's cursor and generates. `sampler`'s window is seeded from
/// the prompt's tail. Never throws away text: a failure keeps what was made so far.
GenerateResult generate(LogitsSource& source, sampling::Sampler& sampler, TokenBytes& bytes,
                        std::span<const TokenId> prompt, const GenerateOptions& options);

}  // namespace minfer::engine
