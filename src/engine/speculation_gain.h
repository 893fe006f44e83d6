// SpeculationGain: how many tokens to draft now, from what was measured in this run.
//
// It knows the time of a plain step, the time of a forward by its number of rows, the time of a
// drafted token, and for each grade of guess how often a guessed token was right. It drafts the
// length that yields the most tokens a second.
//
// When it may be silent (always_on = false) it also keeps an account in units of plain steps: a
// round pays in what it saved or takes out what it cost, a plain step pays in a small share of
// itself, and no round starts whose loss, if nothing is accepted, the account could not bear. So
// however badly guesses do, a run costs at most 1% and one and a half steps more than plain steps
// (as far as the measured times hold).
// Invariants: nothing here can change a text, only the time it takes.
// Thread-safety: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace minfer::engine {

/// The median of the last few times, so that one disturbed measurement says nothing.
class RecentMedian {
 public:
  void add(double value);
  void clear() { size_ = 0; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// 0 when empty.
  [[nodiscard]] double value() const;

 private:
  static constexpr std::size_t kCapacity = 5;
  std::array<double, kCapacity> values_{};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

struct GainOptions {
  std::int32_t max_draft = 31;  // >= 1
  bool always_on = false;       // drafts whenever there is a guess; only the length is chosen
};

class SpeculationGain {
 public:
  /// `priors`: see Draft::priors().
  SpeculationGain(std::span<const double> priors, GainOptions options);

  /// The number of tokens to draft: 0, or one of a few lengths (each costs a graph), at most
  /// `limit`.
  std::int32_t choose(std::size_t grade, std::int32_t limit);

  /// A forward of one row without a draft.
  void record_step(double seconds);
  struct Round {
    std::int32_t n_drafted = 0;
    std::int32_t n_accepted = 0;
    double draft_seconds = 0;
    double verify_seconds = 0;
  };
  void record_round(const Round& round);
  /// A guess of this grade was compared with the text: `n_right` tokens were right, then one was
  /// wrong if `missed`.
  void record_guess(std::size_t grade, std::int32_t n_right, bool missed);

  [[nodiscard]] double account() const { return account_; }
  /// Expected seconds of a forward of `rows` rows.
  [[nodiscard]] double forward_seconds(std::int32_t rows) const;

 private:
  struct Trials {
    double prior = 0, right = 0, all = 0;
    [[nodiscard]] double share() const;
  };
  struct Length {
    std::int32_t n = 0;
    RecentMedian verify;
  };

  [[nodiscard]] double round_seconds(std::int32_t n) const;

  GainOptions options_;
  std::vector<Trials> trials_;
  std::vector<Length> lengths_;  // rising
  RecentMedian step_;
  RecentMedian draft_;  // a token
  double account_;
  bool on_ = false;
  std::int32_t steps_since_round_ = 0;
};

}  // namespace minfer::engine
