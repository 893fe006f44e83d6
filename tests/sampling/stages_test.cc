// Each stage on rows whose outcome can be worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/stage.h"

namespace minfer::sampling {
namespace {

/// No stage on, and nearly uniform draws over what is left.
SamplerOptions everything_off() {
  SamplerOptions options;
  options.temp = 100.0F;
  options.top_k = 0;
  options.top_p = 1.0F;
  return options;
}

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

Sampler make(const SamplerOptions& options, std::size_t n_vocab,
             const std::vector<TokenId>& eog = {}, TokenStrings bytes = nullptr) {
  auto sampler =
      Sampler::create(options, static_cast<std::int64_t>(n_vocab), eog, std::move(bytes));
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return std::move(sampler).value();
}

/// All tokens that 500 draws give.
std::set<TokenId> kept(const SamplerOptions& options, const std::vector<float>& logits) {
  Sampler sampler = make(options, logits.size());
  std::set<TokenId> tokens;
  for (std::int64_t position = 0; position < 500; ++position) {
    tokens.insert(*sampler.sample(logits, position, {}));
  }
  return tokens;
}

using Tokens = std::set<TokenId>;
const std::vector<double> kFive = {0.4, 0.3, 0.15, 0.1, 0.05};

TEST(Stages, order_is_that_of_the_specification) {
  std::vector<std::string_view> names;
  for (const Stage& stage : stages()) names.push_back(stage.name);
  const std::vector<std::string_view> specified = {
      "logit_bias", "penalties", "dry",         "mask", "greedy",   "top_k",      "typical",
      "top_p",      "min_p",     "top_n_sigma", "xtc",  "mirostat", "temperature"};
  EXPECT_EQ(names, specified);
}

TEST(Stages, each_sees_what_the_ones_before_have_left) {
  // top-k 2 leaves 4/7 and 3/7, of which top-p 0.5 keeps the first; the other way it would be two.
  SamplerOptions options = everything_off();
  options.top_k = 2;
  options.top_p = 0.5F;
  EXPECT_EQ(kept(options, logits_of(kFive)), (Tokens{0}));
  // typical 0.2 keeps token 1 alone, so min-p measures against it.
  options = everything_off();
  options.typical = 0.2F;
  options.min_p = 0.9F;
  EXPECT_EQ(kept(options, logits_of(kFive)), (Tokens{1}));
  // top-p leaves two, so XTC leaves out the first of them.
  options = everything_off();
  options.top_p = 0.7F;
  options.xtc_probability = 1.0F;
  EXPECT_EQ(kept(options, logits_of(kFive)), (Tokens{1}));
}

TEST(Stages, cuts_at_their_extremes) {
  const auto logits = logits_of(kFive);
  const Tokens all = {0, 1, 2, 3, 4};
  EXPECT_EQ(kept(everything_off(), logits), all);
  const auto with = [&](auto field, auto value) {
    SamplerOptions options = everything_off();
    options.*field = value;
    return kept(options, logits);
  };
  EXPECT_EQ(with(&SamplerOptions::top_k, 1), (Tokens{0}));
  EXPECT_EQ(with(&SamplerOptions::top_k, 1000000000), all);
  EXPECT_EQ(with(&SamplerOptions::top_p, 0.0F), (Tokens{0}));
  EXPECT_EQ(with(&SamplerOptions::top_p, 0.6F), (Tokens{0, 1}));
  EXPECT_EQ(with(&SamplerOptions::top_p, 0.96F), all);
  EXPECT_EQ(with(&SamplerOptions::min_p, 1.0F), (Tokens{0}));
  EXPECT_EQ(with(&SamplerOptions::min_p, 0.3F), (Tokens{0, 1, 2}));
  EXPECT_EQ(with(&SamplerOptions::typical, 0.0F), (Tokens{1}));
  EXPECT_EQ(with(&SamplerOptions::top_n_sigma, 0.0F), all);
  EXPECT_EQ(with(&SamplerOptions::top_n_sigma, 1e-6F), (Tokens{0}));
  EXPECT_EQ(with(&SamplerOptions::top_n_sigma, 100.0F), all);
}

TEST(Stages, typical_keeps_the_surprises_nearest_to_the_entropy) {
  // Entropy 1.392 nats; the surprises 0.916, 1.204, 1.897, 2.303, 2.996 are 0.476, 0.188, 0.505,
  // 0.910 and 1.603 away.
  SamplerOptions options = everything_off();
  const std::vector<std::pair<float, Tokens>> cases = {
      {0.29F, {1}},       {0.31F, {0, 1}},       {0.69F, {0, 1}},
      {0.71F, {0, 1, 2}}, {0.86F, {0, 1, 2, 3}}, {0.96F, {0, 1, 2, 3, 4}}};
  for (const auto& [p, tokens] : cases) {
    options.typical = p;
    EXPECT_EQ(kept(options, logits_of(kFive)), tokens) << p;
  }
  options.typical = 0.5F;
  EXPECT_EQ(kept(options, std::vector<float>(4, 3.0F)), (Tokens{0, 1}));
}

TEST(Stages, top_n_sigma_measures_all_finite_logits) {
  // 50 at 1 and 50 at -1 have a standard deviation of 1.
  std::vector<float> logits(100, 1.0F);
  for (std::size_t i = 1; i < 100; i += 2) logits[i] = -1.0F;
  SamplerOptions options = everything_off();
  options.top_n_sigma = 1.99F;
  EXPECT_EQ(kept(options, logits).size(), 50U);
  options.top_n_sigma = 2.01F;
  EXPECT_EQ(kept(options, logits).size(), 100U);
  // Impossible tokens and what top-k cuts change nothing; nor does the temperature.
  logits.resize(150, kNever);
  options.top_n_sigma = 1.99F;
  EXPECT_EQ(kept(options, logits).size(), 50U);
  options.top_k = 60;
  EXPECT_EQ(kept(options, logits).size(), 50U);
  options.temp = 10.0F;
  EXPECT_EQ(kept(options, logits).size(), 50U);
}

TEST(Stages, xtc_leaves_out_all_likely_tokens_but_the_last) {
  SamplerOptions options = everything_off();
  options.xtc_probability = 1.0F;
  const auto logits = logits_of(kFive);
  const std::vector<std::pair<float, Tokens>> cases = {{0.5F, {0, 1, 2, 3, 4}},
                                                       {0.35F, {0, 1, 2, 3, 4}},
                                                       {0.2F, {1, 2, 3, 4}},
                                                       {0.08F, {3, 4}},
                                                       {0.0F, {4}}};
  for (const auto& [threshold, tokens] : cases) {
    options.xtc_threshold = threshold;
    EXPECT_EQ(kept(options, logits), tokens) << threshold;
  }
  options.xtc_threshold = 0.0F;
  EXPECT_EQ(kept(options, {1.0F}), (Tokens{0}));
  EXPECT_EQ(kept(options, {kNever, 1.0F, kNever}), (Tokens{1}));
}

TEST(Stages, xtc_throws_its_own_coin) {
  SamplerOptions options = everything_off();
  options.temp = 1.0F;
  const auto logits = logits_of(kFive);
  Sampler without = make(options, 5);
  options.xtc_probability = 0.3F;
  options.xtc_threshold = 0.2F;
  Sampler with = make(options, 5);
  int thrown = 0;
  for (std::int64_t position = 0; position < 4000; ++position) {
    const bool heads = draws_at(options.seed, 0, static_cast<std::uint64_t>(position)).coin < 0.3F;
    thrown += heads ? 1 : 0;
    const TokenId token = *with.sample(logits, position, {});
    if (heads) {
      EXPECT_NE(token, 0);
    } else {
      EXPECT_EQ(token, *without.sample(logits, position, {}));
    }
  }
  EXPECT_NEAR(thrown, 1200, 120);
}

TEST(Stages, mirostat_2_cuts_at_mu_and_corrects_it) {
  SamplerOptions options = everything_off();
  options.mirostat = 2;
  options.mirostat_tau = 3.0F;
  options.mirostat_eta = 0.5F;
  const std::vector<double> halves = {0.5, 0.25, 0.125, 0.125};  // 1, 2, 3 and 3 bits
  const auto logits = logits_of(halves);
  Sampler sampler = make(options, 4);
  EXPECT_EQ(sampler.mu(), 6.0);
  sampler.set_mu(1.5);
  EXPECT_EQ(*sampler.sample(logits, 0, {}), 0);
  EXPECT_NEAR(sampler.mu(), 1.5 - 0.5 * (1.0 - 3.0), 1e-6);
  Tokens tokens;
  for (std::int64_t position = 0; position < 200; ++position) {
    sampler.set_mu(2.5);
    const TokenId token = *sampler.sample(logits, position, {});
    tokens.insert(token);
    // The surprise is that before the cut.
    EXPECT_NEAR(sampler.mu(), 2.5 - 0.5 * (token + 1.0 - 3.0), 1e-6);
  }
  EXPECT_EQ(tokens, (Tokens{0, 1}));
  sampler.set_mu(-50.0);
  EXPECT_EQ(*sampler.sample(logits, 0, {}), 0);
}

TEST(Stages, mirostat_keeps_the_surprise_near_tau) {
  for (const std::int32_t version : {1, 2}) {
    for (const float tau : {3.0F, 4.0F, 6.0F}) {
      SamplerOptions options = everything_off();
      options.mirostat = version;
      options.mirostat_tau = tau;
      constexpr std::size_t kVocab = 3000;
      Sampler sampler = make(options, kVocab);
      std::mt19937 rng(5);
      double sum = 0.0;
      constexpr int kTokens = 1500;
      for (int position = 0; position < kTokens; ++position) {
        // Zipf's law, as languages have it, in some order.
        std::vector<float> logits(kVocab);
        for (std::size_t i = 0; i < kVocab; ++i) {
          logits[i] = -1.1F * std::log(static_cast<float>(i + 1));
        }
        std::shuffle(logits.begin(), logits.end(), rng);
        double total = 0.0;
        for (const float logit : logits) total += std::exp(static_cast<double>(logit));
        const TokenId token = *sampler.sample(logits, position, {});
        const double logit = logits[static_cast<std::size_t>(token)];
        if (position >= 300) sum += (std::log(total) - logit) / std::log(2.0);
      }
      EXPECT_NEAR(sum / (kTokens - 300), tau, 0.1) << "mirostat " << version;
    }
  }
}

TEST(Stages, an_answer_may_always_end) {
  SamplerOptions options;
  options.temp = 0.0F;
  options.repeat_penalty = 5.0F;
  options.frequency_penalty = 5.0F;
  options.presence_penalty = 5.0F;
  options.dry_multiplier = 5.0F;
  Sampler sampler = make(options, 4, {2});
  const std::vector<TokenId> history = {0, 1, 2, 0, 1, 2, 0, 1};
  sampler.seed_window(history);
  EXPECT_EQ(*sampler.sample(std::vector<float>{0.0F, 0.0F, 1.0F, 0.5F}, 0, {}), 2);
  Sampler other = make(options, 4, {3});
  other.seed_window(history);
  EXPECT_EQ(*other.sample(std::vector<float>{0.0F, 0.0F, 1.0F, 0.5F}, 0, {}), 3);
}

TEST(Stages, windows_hold_the_last_tokens) {
  SamplerOptions options;
  options.temp = 0.0F;
  options.presence_penalty = 1.0F;
  const std::vector<float> logits = {1.5F, 1.0F, 0.0F};
  const auto token = [&](std::int32_t window, std::size_t n_behind) {
    options.repeat_last_n = window;
    Sampler sampler = make(options, 3);
    std::vector<TokenId> history = {0};
    history.resize(1 + n_behind, 2);
    sampler.seed_window(history);
    return *sampler.sample(logits, 0, {});
  };
  EXPECT_EQ(token(0, 0), 0);
  EXPECT_EQ(token(3, 2), 1);
  EXPECT_EQ(token(3, 3), 0);
  EXPECT_EQ(token(-1, 100000), 1);
}

TEST(Stages, a_draw_does_not_depend_on_the_vocabularys_layout) {
  std::mt19937 rng(11);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  for (int round = 0; round < 100; ++round) {
    constexpr std::size_t kVocab = 1000;
    std::vector<TokenId> moved(kVocab);
    std::iota(moved.begin(), moved.end(), 0);
    std::shuffle(moved.begin(), moved.end(), rng);
    std::vector<float> logits(kVocab);
    std::vector<float> others(kVocab);
    for (std::size_t i = 0; i < kVocab; ++i) {
      logits[i] = normal(rng);
      others[static_cast<std::size_t>(moved[i])] = logits[i];
    }
    SamplerOptions options = everything_off();
    options.seed = rng();
    options.temp = round % 2 == 0 ? 1.0F : 3.0F;
    if (round % 3 == 0) options.typical = 0.8F;
    if (round % 5 == 0) options.top_p = 0.9F;
    if (round % 7 == 0) options.xtc_probability = 0.5F;
    if (round % 11 == 0) options.mirostat = 1 + round % 2;
    Sampler sampler = make(options, kVocab);
    Sampler other = make(options, kVocab);
    for (std::int64_t position = 0; position < 20; ++position) {
      const TokenId token = *sampler.sample(logits, position, {});
      ASSERT_EQ(*other.sample(others, position, {}), moved[static_cast<std::size_t>(token)]);
      ASSERT_EQ(sampler.mu(), other.mu());
    }
  }
}

}  // namespace
}  // namespace minfer::sampling
