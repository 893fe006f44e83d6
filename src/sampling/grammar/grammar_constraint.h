// GrammarConstraint: the tokens that a grammar allows next.
//
// Owns: the matcher and a bounded cache of masks.
// Invariants: allowed() has exactly the bits of the tokens that allows() allows. A mask is kept by
// the folded state (StackPool::set_horizon()): two states with one folded state cannot be told
// apart by any token of the vocabulary, so that counters share masks as long as their limits are
// out of a token's reach. Thread-safety: one thread; grammar and vocabulary may be shared.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "sampling/constraint.h"
#include "sampling/grammar/grammar.h"
#include "sampling/grammar/grammar_vocab.h"

namespace minfer::sampling {

class GrammarConstraint final : public Constraint {
 public:
  /// Masks that are kept at most.
  static constexpr std::size_t kMaxMasks = 128;

  /// kInvalidArgument, with line and column: the grammar names a token that the vocabulary does not
  /// have.
  static Result<std::unique_ptr<GrammarConstraint>> create(
      std::shared_ptr<const Grammar> grammar, std::shared_ptr<const GrammarVocab> vocab);

  Result<bool> allows(TokenId token) override;
  Result<std::span<const std::uint64_t>> allowed() override;
  Status accept(TokenId token) override;
  void reset() override;
  [[nodiscard]] bool is_complete() const override {
    return partial_.empty() && machine_.is_complete(live_[0]);
  }

  /// As allows() and accept(), for bytes that no one token stands for.
  Result<bool> allows_text(std::string_view bytes);
  Status accept_text(std::string_view bytes);

  /// See Machine; fewer make it forget more often, which changes no answer.
  void set_crowded_states(std::size_t n) { machine_.set_crowded_states(n); }
  [[nodiscard]] std::size_t n_masks() const { return masks_.size(); }
  [[nodiscard]] std::size_t n_masks_made() const { return n_masks_made_; }
  [[nodiscard]] const GrammarVocab& vocab() const { return *vocab_; }

 private:
  struct Mask {
    std::vector<std::uint64_t> bits;
    std::uint64_t last_use = 0;
  };
  /// A class that leads back to where it stands: characters of these groups, so many in a row.
  struct SelfLoop {
    CharGroups groups = 0;
    std::uint64_t characters = 0;
    /// Of `groups`, those that nothing else reads on the way, nor what stands behind its end: so
    /// many characters and no more.
    CharGroups alone = 0;
  };

  struct LoopSpan {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool known = false;
  };

  GrammarConstraint(std::shared_ptr<const Grammar> grammar,
                    std::shared_ptr<const GrammarVocab> vocab);

  Status resolve_references();
  Status start();
  [[nodiscard]] bool refers_to(std::uint32_t reference, TokenId token) const;
  Result<StateId> behind_text(std::string_view bytes, PartialChar& partial);
  void add_references(std::span<std::uint64_t> mask);
  Status make_mask(StateId folded, std::span<std::uint64_t> mask);
  Status walk(std::span<std::uint64_t> mask);
  [[nodiscard]] bool wants_loops(StateId state, const GrammarVocab::Node& node) const;
  [[nodiscard]] bool loops_through(StateId state, const GrammarVocab::Node& node) const;
  Status find_loops(StateId state);
  Status find_alone(StateId state, Machine::Config config, SelfLoop& loop);
  const SelfLoop* ends_alone(StateId state, const GrammarVocab::Node& node) const;
  void mark(std::span<std::uint64_t> mask, std::uint32_t first, std::uint32_t last) const;
  void mark_short(std::span<std::uint64_t> mask, const GrammarVocab::Node& node,
                  std::uint64_t max_chars) const;
  void relieve(std::size_t n_live);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const GrammarVocab> vocab_;
  Machine machine_;
  std::vector<TokenId> references_;        // [n] ids of Program::tokens
  std::vector<CharGroups> class_groups_;   // [n] groups inside Program::classes
  std::vector<CharGroups> class_touches_;  // [n] groups that they touch

  // The state, and behind it those of the walk by depth: the trie's depth + 2.
  std::vector<StateId> live_;
  PartialChar partial_;
  std::vector<PartialChar> partials_;   // of the walk, by depth
  std::vector<std::uint16_t> n_chars_;  // that began on the walk's path, by depth
  std::vector<SelfLoop> loops_;
  std::vector<LoopSpan> loops_of_;  // [states that were asked for]
  std::unordered_map<std::uint64_t, Mask> masks_;
  std::uint64_t n_uses_ = 0;
  std::size_t n_masks_made_ = 0;
  std::vector<std::uint32_t> met_references_;
};

}  // namespace minfer::sampling
