// SpeculativeSource: a LogitsSource that runs guessed tokens ahead of its caller.
//
// Asked for the logits after a token, it runs that token and a draft behind it in one forward, with
// the logits of every row. While the caller's next tokens are the drafted ones, their logits are
// there; the first other token ends the round, and the rows past it are taken back. The caller sees
// the calls and the logits of plain steps: because a row has the same bits in every batch, nothing
// that the caller does (draws, penalties, stop strings, caps) can come out differently.
// (Leviathan et al., 2023, "Fast Inference from Transformers via Speculative Decoding", with the
// check done by the caller's own sampler.)
//
// Owns: nothing of the model; the tokens from where the source stood on.
// Invariants: cursor() counts only tokens that the caller has given. The source may hold rows ahead
// of it, never at or past the horizon.
// Thread-safety: one thread.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/draft.h"
#include "engine/speculation_gain.h"

namespace minfer::engine {

struct SpeculationCounts {
  std::int64_t rounds = 0;    // forwards with a draft
  std::int64_t drafted = 0;   // tokens
  std::int64_t accepted = 0;  // drafted tokens that the text went on with
};

class SpeculativeSource final : public LogitsSource {
 public:
  /// Seconds from any fixed point, never falling.
  using Clock = std::function<double()>;

  /// `source` and `draft` must outlive it and be used by nobody else meanwhile. With
  /// `gain.always_on` = false a guess that would cost more than it yields is not run. `before`: the
  /// tokens that the source holds, for the draft to know; all of them or none.
  SpeculativeSource(RewindableSource& source, Draft& draft, GainOptions gain, Clock clock,
                    std::span<const TokenId> before = {});

  Result<std::span<const float>> advance(std::span<const TokenId> tokens) override;
  [[nodiscard]] std::int32_t cursor() const override;
  [[nodiscard]] std::int32_t n_ctx() const override { return source_.n_ctx(); }
  Status set_horizon(std::int32_t position) override;

  [[nodiscard]] const SpeculationCounts& counts() const { return counts_; }
  /// Why the draft was given up: its first error. The run goes on without it.
  [[nodiscard]] const Status& draft_status() const { return draft_status_; }

 private:
  [[nodiscard]] std::span<const float> row(std::size_t i) const;
  Result<std::span<const float>> step();
  void make_draft();
  void end_round(bool missed);
  void watch(TokenId token);
  void end_watch(bool missed);
  Status rewind();
  bool draft_ok(const Status& status);

  RewindableSource& source_;
  Draft& draft_;
  bool always_on_;
  SpeculationGain gain_;
  Clock clock_;
  std::int32_t base_;  // where `history_` begins
  std::int32_t horizon_;
  std::vector<TokenId> history_;
  Status draft_status_;
  SpeculationCounts counts_;

  // The round: logits after history_'s last token stand in row 0 when it began.
  std::vector<TokenId> batch_;  // the leading token and the draft; empty: no round
  std::size_t accepted_ = 0;
  std::span<const float> logits_;
  std::size_t grade_ = 0;
  double draft_seconds_ = 0;
  double verify_seconds_ = 0;

  // A guess that was not run, compared with the text as it comes.
  std::vector<TokenId> watched_;
  std::size_t watched_right_ = 0;
  std::size_t watched_grade_ = 0;
};

}  // namespace minfer::engine
