// The controller of draft lengths: what it does on machines and texts of every kind.
#include "engine/speculation_gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace minfer::engine {
namespace {

TEST(RecentMedian, of_the_last_five) {
  RecentMedian median;
  EXPECT_EQ(median.value(), 0);
  median.add(7);
  EXPECT_EQ(median.value(), 7);
  for (const double value : {1.0, 100.0, 2.0, 3.0}) median.add(value);
  EXPECT_EQ(median.value(), 3);  // 7 1 100 2 3
  median.add(2);
  EXPECT_EQ(median.value(), 2);  // 1 100 2 3 2
  median.clear();
  EXPECT_TRUE(median.empty());
  median.add(4);
  EXPECT_EQ(median.value(), 4);
}

/// A machine and a text: the seconds of a forward of n rows, and how often a guess is right.
struct World {
  double row_cost = 0.05;  // of a further row, as a share of a step
  double right = 0.0;
  double draft_cost = 0.0;  // of a drafted token
  double guessed = 1.0;     // share of tokens for which there is a guess
  double noise = 0.0;       // now and then a forward takes three times as long
};

struct Outcome {
  double seconds = 0;  // of all tokens; plain: one each
  double tokens = 0;
  int rounds = 0;
  double last_draft = 0;
  [[nodiscard]] double slowdown() const { return seconds / tokens - 1; }
};

/// Generates `n` tokens as SpeculativeSource does. A guess that is not run is watched.
Outcome live(const World& world, SpeculationGain& gain, int n, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto disturbed = [&](double seconds) {
    return uniform(rng) < world.noise ? 3 * seconds : seconds;
  };
  Outcome outcome;
  while (outcome.tokens < n) {
    const bool guessed = uniform(rng) < world.guessed;
    const std::int32_t drafted = guessed ? gain.choose(0, 31) : 0;
    const bool hit = uniform(rng) < world.right;
    if (drafted == 0) {
      const double seconds = disturbed(1);
      gain.record_step(seconds);
      if (guessed) gain.record_guess(0, hit ? 1 : 0, !hit);
      outcome.seconds += 1;
      outcome.tokens += 1;
      continue;
    }
    std::int32_t accepted = 0;
    while (accepted < drafted && uniform(rng) < world.right) ++accepted;
    const double verify = 1 + world.row_cost * drafted;
    gain.record_round({.n_drafted = drafted,
                       .n_accepted = accepted,
                       .draft_seconds = world.draft_cost * drafted,
                       .verify_seconds = disturbed(verify)});
    gain.record_guess(0, accepted, accepted < drafted);
    outcome.seconds += verify + world.draft_cost * drafted;
    outcome.tokens += accepted + 1;
    outcome.last_draft = drafted;
    ++outcome.rounds;
  }
  return outcome;
}

SpeculationGain make(double prior, GainOptions options = {}) {
  return SpeculationGain(std::vector<double>{prior}, options);
}

TEST(SpeculationGain, copying_is_fast_where_rows_are_cheap) {
  SpeculationGain gain = make(0.5);
  const Outcome outcome = live({.row_cost = 0.05, .right = 0.97}, gain, 256, 1);
  EXPECT_LT(outcome.seconds, outcome.tokens / 4);
  EXPECT_EQ(outcome.last_draft, 31);
}

TEST(SpeculationGain, what_never_pays_costs_at_most_three_percent) {
  for (const double row_cost : {0.0, 0.05, 0.3, 1.0, 5.0}) {
    for (const double right : {0.0, 0.1, 0.2, 0.4}) {
      for (const double prior : {0.3, 0.85}) {
        for (unsigned seed = 1; seed <= 5; ++seed) {
          SpeculationGain gain = make(prior);
          const Outcome outcome = live({.row_cost = row_cost, .right = right}, gain, 256, seed);
          // Where the first rows cost more than thought, the account learns it from one round.
          const double allowed = 0.03 + (row_cost > 0.1 ? 3 * row_cost / 256 : 0.0);
          EXPECT_LE(outcome.slowdown(), allowed)
              << "row " << row_cost << " right " << right << " prior " << prior;
        }
      }
    }
  }
}

TEST(SpeculationGain, starts_again_when_the_text_starts_to_repeat) {
  SpeculationGain gain = make(0.85);
  live({.row_cost = 0.05, .right = 0.0}, gain, 300, 1);
  const Outcome later = live({.row_cost = 0.05, .right = 0.95}, gain, 300, 2);
  EXPECT_LT(later.seconds, later.tokens / 2);
}

TEST(SpeculationGain, stops_when_the_text_stops_to_repeat) {
  SpeculationGain gain = make(0.5);
  live({.row_cost = 0.1, .right = 0.99}, gain, 300, 1);
  const Outcome later = live({.row_cost = 0.1, .right = 0.0}, gain, 400, 2);
  EXPECT_LE(later.slowdown(), 0.03);
}

TEST(SpeculationGain, forgets_what_a_busy_machine_taught) {
  SpeculationGain gain = make(0.9);
  live({.row_cost = 4, .right = 0.9}, gain, 50, 1);
  const Outcome idle = live({.row_cost = 0.05, .right = 0.95}, gain, 1500, 2);
  EXPECT_LT(idle.seconds, idle.tokens / 2);
}

TEST(SpeculationGain, single_disturbed_measurements_change_little) {
  SpeculationGain gain = make(0.5);
  const Outcome outcome = live({.row_cost = 0.05, .right = 0.95, .noise = 0.15}, gain, 512, 3);
  EXPECT_LT(outcome.seconds, outcome.tokens / 3);
}

TEST(SpeculationGain, an_expensive_draft_is_kept_short) {
  SpeculationGain gain = make(0.7, {.always_on = true});
  const Outcome outcome = live({.row_cost = 0.05, .right = 0.6, .draft_cost = 0.3}, gain, 200, 1);
  EXPECT_EQ(outcome.last_draft, 3);
}

TEST(SpeculationGain, lengths_are_few_and_within_limits) {
  for (std::int32_t most = 1; most <= 31; ++most) {
    for (const bool always : {false, true}) {
      std::vector<std::int32_t> seen;
      SpeculationGain gain = make(0.9, {.max_draft = most, .always_on = always});
      std::mt19937 rng(static_cast<unsigned>(most));
      for (int i = 0; i < 300; ++i) {
        const auto limit = static_cast<std::int32_t>(1 + rng() % 40);
        const std::int32_t n = gain.choose(0, limit);
        ASSERT_LE(n, limit);
        ASSERT_LE(n, most);
        if (n == 0) {
          gain.record_step(1);
          continue;
        }
        if (std::find(seen.begin(), seen.end(), n) == seen.end()) seen.push_back(n);
        gain.record_round({n, n, 0, 1 + 0.01 * n});
        gain.record_guess(0, n, false);
      }
      // With the graphs of two prefill chunks and of decode, a cache of 8 holds them all.
      EXPECT_LE(seen.size(), 4U);
      EXPECT_FALSE(seen.empty());
    }
  }
}

TEST(SpeculationGain, clocks_of_every_kind) {
  const double times[] = {0, -1, 1e300, INFINITY, 1e-300};
  for (const double step : times) {
    for (const double verify : times) {
      for (const bool always : {false, true}) {
        SpeculationGain gain = make(0.9, {.always_on = always});
        for (int i = 0; i < 50; ++i) {
          const std::int32_t n = gain.choose(0, 20);
          ASSERT_GE(n, 0);
          ASSERT_LE(n, 20);
          if (n == 0) {
            gain.record_step(step);
          } else {
            gain.record_round({n, n / 2, step, verify});
            gain.record_guess(0, n / 2, true);
          }
        }
      }
    }
  }
}

TEST(SpeculationGain, estimates_lie_on_what_was_measured) {
  SpeculationGain gain = make(0.9, {.always_on = true});
  gain.record_step(10);
  EXPECT_DOUBLE_EQ(gain.forward_seconds(1), 10);
  EXPECT_DOUBLE_EQ(gain.forward_seconds(4), 13);
  gain.record_round({3, 3, 0, 16});
  EXPECT_DOUBLE_EQ(gain.forward_seconds(4), 16);
  EXPECT_DOUBLE_EQ(gain.forward_seconds(8), 24);
  gain.record_round({15, 3, 0, 28});
  EXPECT_DOUBLE_EQ(gain.forward_seconds(8), 20);
  EXPECT_DOUBLE_EQ(gain.forward_seconds(16), 28);
  EXPECT_DOUBLE_EQ(gain.forward_seconds(32), 44);
}

}  // namespace
}  // namespace minfer::engine
