// PromptLookup: guesses that the text goes on as it did the last time that it looked like this.
//
// Owns: for each of a few lengths n, a table from the hash of n tokens to the place behind their
// last occurrence; and the place that the text is following now. The tables have a fixed size: in
// a very long context newer places push out older ones. Observing a token takes constant time; no
// token is looked at again but to compare a match.
// The longest repeated suffix wins, the latest place among equals. While the text follows a place
// it stays there; where it leaves it (a name was changed), a single token found a little farther
// on is enough to follow again.
// After "prompt lookup decoding" (A. Saxena, 2023).
// Thread-safety: one thread.
#pragma once

#include <array>

#include "engine/draft.h"

namespace minfer::engine {

class PromptLookup final : public Draft {
 public:
  PromptLookup();

  [[nodiscard]] std::span<const double> priors() const override;
  Status observe(std::span<const TokenId> history) override;
  std::optional<std::size_t> grade() override;
  /// Exactly n tokens; a guess that reaches the end of `history` goes on with itself.
  Status propose(std::span<const TokenId> history, std::size_t n,
                 std::vector<TokenId>& out) override;

 private:
  static constexpr std::array<std::size_t, 4> kOrders = {16, 8, 4, 2};

  void follow(std::span<const TokenId> history, std::size_t at);
  void insert(std::span<const TokenId> history, std::size_t end);
  void find(std::span<const TokenId> history);
  bool find_suffix(std::span<const TokenId> history, std::size_t order);
  bool find_again(std::span<const TokenId> history);

  std::array<std::vector<std::uint32_t>, kOrders.size()> places_;  // 0: none
  std::size_t observed_ = 0;
  std::size_t next_ = 0;    // the place whose token is the guess; 0: none
  std::size_t length_ = 0;  // tokens before it that are equal to the text's last ones
  bool again_ = false;      // found by find_again()
  std::size_t left_ = 0;    // where the text left the place that it followed; 0: nowhere
  std::size_t left_age_ = 0;
};

}  // namespace minfer::engine
