// Constraint: which tokens may come next, as a grammar says. The sampler asks it; who made it and
// from what it does not know.
//
// Invariants: what allows() and allowed() say depends on the accepted tokens alone.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "sampling/token_id.h"

namespace minfer::sampling {

class Constraint {
 public:
  virtual ~Constraint() = default;

  /// Whether `token` may come next; costs no more than reading the token's bytes. An
  /// end-of-generation token may come where the text is whole, control and unused tokens never,
  /// unless the grammar names them. Errors: kOutOfRange where a limit of the grammar's is
  /// passed.
  virtual Result<bool> allows(TokenId token) = 0;

  /// All tokens that may come next, a bit each: bit id % 64 of word id / 64, [n_vocab] bits rounded
  /// up to words. Valid until the next call that is no const one. Errors: as allows().
  virtual Result<std::span<const std::uint64_t>> allowed() = 0;

  /// Takes a token that allows() allows.
  virtual Status accept(TokenId token) = 0;

  /// Back to before the first token.
  virtual void reset() = 0;

  /// The accepted text may end here.
  [[nodiscard]] virtual bool is_complete() const = 0;
};

}  // namespace minfer::sampling
