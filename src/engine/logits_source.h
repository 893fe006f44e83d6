// LogitsSource: what the decode loop needs of a model: append tokens, get logits.
//
// A Session is the real one; tests of the loop use a scripted one and need no model.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace minfer::engine {

using TokenId = std::int32_t;

class LogitsSource {
 public:
  virtual ~LogitsSource() = default;

  /// Runs `tokens` (at least one) at the cursor and moves it behind them. The result is the logits
  /// after the last one, [n_vocab], valid until the next call. Errors leave the cursor where the
  /// last completed chunk ended; kOutOfRange: the context is too small.
  virtual Result<std::span<const float>> advance(std::span<const TokenId> tokens) = 0;

  /// Tokens whose rows are in the KV.
  [[nodiscard]] virtual std::int32_t cursor() const = 0;
  [[nodiscard]] virtual std::int32_t n_ctx() const = 0;
};

}  // namespace minfer::engine
