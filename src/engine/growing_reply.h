// GrowingReply: one reply as it grows, token by token, without the model that it is drawn from.
//
// Owns: what was drawn, the stop matcher and the UTF-8 gate.
// Invariants: the gates stand in the order that engine/generate.h gives. However its rows of logits
// were computed, alone or in a batch, equal rows make an equal reply.
// Thread-safety: one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "engine/generate.h"
#include "engine/stop_matcher.h"

namespace minfer::engine {

class GrowingReply {
 public:
  /// All references must outlive it.
  GrowingReply(sampling::Sampler& sampler, TokenBytes& bytes, const GenerateOptions& options,
               std::int32_t n_ctx);

  /// Before the first step: seeds the penalty window from options.window or the prompt.
  void begin(std::span<const TokenId> prompt);

  /// Draws from the logits behind the `cursor` tokens in the KV, and passes the gates. True: the
  /// reply has ended; false: last() is to be run.
  bool step(std::span<const float> logits, std::int32_t cursor);
  [[nodiscard]] TokenId last() const { return last_; }
  [[nodiscard]] std::size_t n_drawn() const { return result_.ids.size(); }
  [[nodiscard]] double last_sample_seconds() const { return last_sample_seconds_; }

  /// The model gave no logits.
  void fail(const Status& status);
  /// What was made, but for the times of prefill and decode. Ends the text; call it once.
  GenerateResult finish();

 private:
  bool draw(std::span<const float> logits, std::int32_t cursor);
  bool end(FinishReason reason);
  bool show(TokenId token);
  void emit(std::string_view safe);
  void hand_out();

  sampling::Sampler& sampler_;
  TokenBytes& bytes_;
  const GenerateOptions& options_;
  std::int32_t n_ctx_;
  StopMatcher stops_;
  Utf8Gate utf8_;
  GenerateResult result_;
  bool finished_ = false;
  TokenId last_ = 0;
  double last_sample_seconds_ = 0;
  std::string token_bytes_, safe_, characters_;
};

}  // namespace minfer::engine
