// Session: one sequence of tokens in the KV, and the forward that extends it.
//
// Owns: one open sequence of a forward, which it shares with its forks. Long inputs are run in
// chunks of the batch size; the chunk borders change no bit.
// Invariants: cursor() is the number of tokens whose rows are valid.
// Thread-safety: one thread at a time; request_cancel() from any thread or signal handler.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/logits_source.h"
#include "plan/kv_rows.h"

namespace minfer::engine {

class Session final : public BranchingSource {
 public:
  static Result<std::unique_ptr<Session>> create(const Engine& engine,
                                                 const SessionOptions& options);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Result<std::span<const float>> advance(std::span<const TokenId> tokens) override;
  [[nodiscard]] std::int32_t cursor() const override;
  [[nodiscard]] std::int32_t n_ctx() const override { return n_ctx_; }

  /// Runs `tokens` and hands the logits of every one of them, in order, to `consume` (index of the
  /// token in `tokens`, row [n_vocab]).
  Status advance_all(std::span<const TokenId> tokens,
                     const std::function<Status(std::size_t, std::span<const float>)>& consume);

  Result<std::span<const float>> advance_each(std::span<const TokenId> tokens) override;
  [[nodiscard]] std::int32_t max_rows() const override { return batch_size_; }
  Status truncate(std::int32_t n) override;
  Status extend(std::span<const TokenId> tokens) override;
  Result<std::unique_ptr<BranchingSource>> fork() override;

  void request_cancel() { forward_->request_cancel(); }
  [[nodiscard]] plan::Forward& forward() { return *forward_; }
  /// The rows of the session's sequence, for files. Valid as long as the session.
  [[nodiscard]] plan::SequenceRows rows() { return {forward_->kv(), sequence_}; }

 private:
  Session() = default;

  Result<plan::LogitsView> run_chunk(std::span<const TokenId> tokens, bool last_wants_output,
                                     bool all_want_output);

  std::shared_ptr<plan::Forward> forward_;
  plan::SequenceId sequence_ = -1;
  std::int32_t n_ctx_ = 0;
  std::int32_t batch_size_ = 0;
  std::vector<plan::Row> rows_;

  friend Result<plan::LogitsView> advance_together(std::span<Session* const> sessions,
                                                   std::span<const TokenId> tokens);
};

/// Runs tokens[i] at the cursor of sessions[i], all in one forward, which the sessions must share;
/// row i of the result is the logits after it. At least one, at most their batch size.
Result<plan::LogitsView> advance_together(std::span<Session* const> sessions,
                                          std::span<const TokenId> tokens);

}  // namespace minfer::engine
