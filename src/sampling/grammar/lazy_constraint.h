// LazyConstraint: everything may come until a trigger has been written; from the trigger on, it
// included, the text follows a grammar. So a model answers freely, but its tool calls are well
// formed.
//
// Owns: the grammar's constraint, the end of the text so far.
// Invariants: the trigger is found wherever tokens are cut; what follows it in the same token is
// the grammar's too. allowed() has exactly the bits of the tokens that allows() allows.
// Thread-safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sampling/grammar/grammar_constraint.h"

namespace minfer::sampling {

class LazyConstraint final : public Constraint {
 public:
  /// A text of the grammar begins with a trigger: with its characters, or where a hidden token has
  /// the trigger's name, with a reference to that token. kInvalidArgument: no trigger, an empty
  /// one, or see GrammarConstraint.
  static Result<std::unique_ptr<LazyConstraint>> create(std::vector<std::string> triggers,
                                                        std::shared_ptr<const Grammar> grammar,
                                                        std::shared_ptr<const GrammarVocab> vocab);

  Result<bool> allows(TokenId token) override;
  Result<std::span<const std::uint64_t>> allowed() override;
  Status accept(TokenId token) override;
  void reset() override;
  [[nodiscard]] bool is_complete() const override { return !triggered_ || inner_->is_complete(); }

  /// A trigger has been written.
  [[nodiscard]] bool triggered() const { return triggered_; }

 private:
  LazyConstraint(std::vector<std::string> triggers, std::unique_ptr<GrammarConstraint> inner);

  Status prepare();
  [[nodiscard]] std::size_t find_trigger(std::string_view text) const;
  [[nodiscard]] std::string behind(TokenId token) const;
  [[nodiscard]] bool begins_trigger() const;
  Status judge(TokenId token, std::span<std::uint64_t> mask);

  std::vector<std::string> triggers_;
  std::unique_ptr<GrammarConstraint> inner_;
  std::size_t max_tail_ = 0;
  std::vector<TokenId> containing_;  // tokens that hold a whole trigger
  std::vector<TokenId> hidden_;
  std::vector<std::uint64_t> free_mask_;  // where no trigger has begun
  std::vector<std::uint64_t> mask_;
  std::string tail_;  // the end of the text, in which a trigger may have begun
  bool triggered_ = false;
};

}  // namespace minfer::sampling
