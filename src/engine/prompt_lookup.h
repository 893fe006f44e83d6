// PromptLookup: guesses that the text goes on as it did the last time that it looked like this.
//
// Owns: for each of a few lengths n, a table from the hash of n tokens to the place behind their
// last occurrence; the place that the text is following now; the last few changes. The tables have
// a fixed size: in a very long context newer places push out older ones. Observing a token takes
// constant time; no token is looked at again but to compare a match.
//
// The longest repeated suffix wins, the latest place among equals. While the text follows a place
// it stays there. Where it leaves it (a name was changed), a single token found a little farther on
// is enough to follow again; what stood between is remembered as a change, and guessed where the
// place comes to the same tokens again: a file that is rewritten with another name is guessed
// whole. After "prompt lookup decoding" (A. Saxena, 2023). Thread-safety: one thread.
#pragma once

#include <array>

#include "engine/draft.h"

namespace minfer::engine {

class PromptLookup final : public Draft {
 public:
  PromptLookup();
  PromptLookup(const PromptLookup&) = delete;
  PromptLookup& operator=(const PromptLookup&) = delete;

  [[nodiscard]] std::span<const double> priors() const override;
  void restart() override;
  Status observe(std::span<const TokenId> history) override;
  std::optional<std::size_t> grade() override;
  /// A guess that reaches the end of `history` goes on with itself: n tokens, but where changes
  /// that shorten the text bring it past its own end.
  Status propose(std::span<const TokenId> history, std::size_t n,
                 std::vector<TokenId>& out) override;

 private:
  static constexpr std::array<std::size_t, 4> kOrders = {16, 8, 4, 2};

  /// `before` was replaced by `after`; neither is empty.
  struct Change {
    std::vector<TokenId> before, after;
  };
  /// Where the guess comes from: history[at], or a token of a change that begins there.
  struct Place {
    std::size_t at = 0;  // 0: nowhere
    const Change* change = nullptr;
    std::size_t done = 0;  // tokens of change->after that are behind
  };

  void follow(std::span<const TokenId> history, std::size_t text_at);
  void leave(std::size_t text_at);
  void insert(std::span<const TokenId> history, std::size_t end);
  void find(std::span<const TokenId> history);
  bool find_suffix(std::span<const TokenId> history, std::size_t index);
  bool find_again(std::span<const TokenId> history);
  void learn(std::span<const TokenId> history);
  void look_for_change(std::span<const TokenId> history, Place& place) const;
  void step(std::span<const TokenId> history, Place& place) const;
  void forget_changes();

  std::array<std::vector<std::uint32_t>, kOrders.size()> tables_;  // 0: none
  std::size_t observed_ = 0;
  Place place_;
  std::size_t length_ = 0;  // tokens of the text that the place has guessed or was found by

  // Where the text left a place, in that place and in the text; 0: nowhere.
  std::size_t left_ = 0;
  std::size_t left_text_ = 0;
  // The place was found behind left_; the same of where the two met.
  bool again_ = false;
  std::size_t met_ = 0;
  std::size_t met_text_ = 0;

  std::array<Change, 4> changes_;
  std::size_t next_change_ = 0;
};

}  // namespace minfer::engine
