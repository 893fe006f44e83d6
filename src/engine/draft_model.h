// DraftModel: a smaller model with the same vocabulary guesses what the large one will say.
//
// Owns: a session of the small model. Its guesses are its likeliest tokens.
// Invariants: the session holds a prefix of `fed_`, whose beginning is the history's.
// Thread-safety: one thread; the session may be cancelled from any.
#pragma once

#include <memory>

#include "engine/draft.h"
#include "engine/session.h"
#include "text/vocab.h"

namespace minfer::engine {

/// kInvalidArgument, naming the first token that differs, unless every id stands for the same piece
/// in both. Ids that only one has must be unused ones.
Status check_same_vocabulary(const text::Vocab& model, const text::Vocab& draft);

class DraftModel final : public Draft {
 public:
  /// `n_vocab`, `eog`: of the model whose text is guessed; a guess ends at one of `eog`.
  DraftModel(std::unique_ptr<Session> session, std::int64_t n_vocab, std::span<const TokenId> eog);

  [[nodiscard]] std::span<const double> priors() const override;
  void restart() override;
  Status observe(std::span<const TokenId> history) override;
  std::optional<std::size_t> grade() override;
  Status propose(std::span<const TokenId> history, std::size_t n,
                 std::vector<TokenId>& out) override;

  [[nodiscard]] Session& session() { return *session_; }

 private:
  Status rewind(std::span<const TokenId> history);
  Result<std::span<const float>> feed(std::span<const TokenId> tokens);

  std::unique_ptr<Session> session_;
  std::int64_t n_vocab_;
  std::vector<TokenId> eog_;
  std::vector<TokenId> fed_;  // what the session was given
  std::size_t agreed_ = 0;    // tokens of fed_ that are known to be the history's
  std::size_t observed_ = 0;
};

}  // namespace minfer::engine
