// LogitsSource: what the decode loop needs of a model: append tokens, get logits.
//
// A Session is the real one; tests of the loop use a scripted one and need no model. A
// SpeculativeSource stands before another one and answers some calls from what it ran ahead.
#pragma once

#include <cstdint>
#include <memory>
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

  /// Says that nobody will ask for the logits of a token at `position` or behind it: a source that
  /// runs ahead of its cursor runs no such token, and gives back those it ran.
  virtual Status set_horizon(std::int32_t position) {
    static_cast<void>(position);
    return ok_status();
  }
};

/// A source that can run guesses and take them back.
class RewindableSource : public LogitsSource {
 public:
  /// advance() for 1..max_rows() tokens, with the logits after each of them: [tokens][n_vocab].
  virtual Result<std::span<const float>> advance_each(std::span<const TokenId> tokens) = 0;
  [[nodiscard]] virtual std::int32_t max_rows() const = 0;

  /// Forgets the tokens from position n on. Recurrent state may go back farther: the cursor tells.
  virtual Status truncate(std::int32_t n) = 0;
};

/// A source that a conversation lives in.
class BranchingSource : public RewindableSource {
 public:
  /// advance() without the logits, which nobody will read.
  virtual Status extend(std::span<const TokenId> tokens) = 0;
  /// A second source with the same tokens, which share their memory. kOutOfMemory: there is no room
  /// for one more.
  virtual Result<std::unique_ptr<BranchingSource>> fork() = 0;
};

}  // namespace minfer::engine
