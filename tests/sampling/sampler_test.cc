// The sampler chain against a plain re-computation that sorts and copies everything.
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sampling/random.h"

namespace minfer::sampling {
namespace {

std::vector<float> random_logits(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(n);
  for (float& logit : logits) logit = normal(rng);
  return logits;
}

/// The whole chain as its description reads, with full sorts.
TokenId plain_sample(std::vector<float> logits, const SamplerOptions& options,
                     const std::vector<TokenId>& window, const std::vector<TokenId>& eog,
                     const std::vector<TokenId>& banned, std::int64_t position) {
  for (const LogitBias& bias : options.logit_bias) {
    logits[static_cast<std::size_t>(bias.token)] += bias.bias;
  }
  std::vector<TokenId> seen(
      window.end() - std::min<std::ptrdiff_t>(std::ssize(window), options.repeat_last_n),
      window.end());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const auto count = std::count(seen.begin(), seen.end(), static_cast<TokenId>(id));
    if (count == 0 || std::count(eog.begin(), eog.end(), static_cast<TokenId>(id)) > 0) continue;
    float& x = logits[id];
    x = x > 0 ? x / options.repeat_penalty : x * options.repeat_penalty;
    x -= static_cast<float>(count) * options.frequency_penalty + options.presence_penalty;
  }
  struct Entry {
    TokenId id;
    double logit;
    double p;
  };
  std::vector<Entry> entries;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (std::count(banned.begin(), banned.end(), static_cast<TokenId>(id)) > 0) continue;
    entries.push_back({static_cast<TokenId>(id), logits[id], 0});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.logit > b.logit; });
  if (options.temp == 0.0F) return entries[0].id;
  const auto cut = [&](std::size_t n) {
    if (n < entries.size()) entries.resize(n);
  };
  if (options.top_k > 0) cut(static_cast<std::size_t>(options.top_k));
  double sum = 0;
  for (Entry& e : entries) sum += e.p = std::exp(e.logit - entries[0].logit);
  for (Entry& e : entries) e.p /= sum;
  if (options.top_p < 1.0F) {
    double running = 0;
    std::size_t n = 0;
    while (n < entries.size() && running < static_cast<double>(options.top_p)) {
      running += entries[n++].p;
    }
    cut(std::max<std::size_t>(n, 1));
  }
  std::size_t n = 1;
  while (n < entries.size() && entries[n].p >= static_cast<double>(options.min_p) * entries[0].p) {
    ++n;
  }
  cut(n);
  sum = 0;
  const double t = options.temp;
  for (Entry& e : entries) sum += e.p = std::exp((e.logit - entries[0].logit) / t);
  double target =
      uniform_draw(options.seed, options.attempt, static_cast<std::uint64_t>(position)) * sum;
  for (const Entry& e : entries) {
    target -= e.p;
    if (target < 0) return e.id;
  }
  return entries.back().id;
}

Sampler make(const SamplerOptions& options, std::int64_t n_vocab, std::vector<TokenId> eog = {}) {
  auto sampler = Sampler::create(options, n_vocab, eog);
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return std::move(sampler).value();
}

TEST(Sampling, chain_equals_plain_recomputation) {
  std::mt19937 rng(7);
  int different_tokens = 0;
  for (unsigned round = 0; round < 400; ++round) {
    SamplerOptions options;
    const auto pick = [&](auto... values) {
      const std::array<float, sizeof...(values)> list{static_cast<float>(values)...};
      return list[rng() % list.size()];
    };
    options.temp = pick(0, 0.3, 0.8, 1.5);
    options.top_k = static_cast<std::int32_t>(pick(0, 1, 5, 40, 1000));
    options.top_p = pick(0, 0.5, 0.95, 1);
    options.min_p = pick(0, 0.05, 0.5);
    options.repeat_penalty = pick(1, 1.3, 0.7);
    options.frequency_penalty = pick(0, 0.4, -0.4);
    options.presence_penalty = pick(0, 0.6);
    options.repeat_last_n = static_cast<std::int32_t>(pick(0, 3, 64));
    options.seed = rng();
    if (round % 3 == 0) options.logit_bias = {{3, 4.0F}, {5, -100.0F}, {3, 0.5F}};
    const std::vector<TokenId> eog = {2, 9};
    const std::vector<TokenId> banned =
        round % 2 == 0 ? std::vector<TokenId>{2, 9} : std::vector<TokenId>{};
    Sampler sampler = make(options, 300, eog);
    std::vector<TokenId> window;
    const auto logits = random_logits(300, round);
    for (int i = 0; i < 80; ++i) window.push_back(static_cast<TokenId>(rng() % 12));
    sampler.seed_window(window);
    for (std::int64_t position = 0; position < 5; ++position) {
      const auto token = sampler.sample(logits, position, banned);
      ASSERT_TRUE(token.ok()) << token.status().message();
      ASSERT_EQ(*token, plain_sample(logits, options, window, eog, banned, position))
          << "round " << round << " temp " << options.temp << " top_k " << options.top_k
          << " top_p " << options.top_p << " min_p " << options.min_p;
      ASSERT_TRUE(sampler.accept(*token).ok());
      window.push_back(*token);
      if (*token != window[window.size() - 2]) ++different_tokens;
    }
  }
  EXPECT_GT(different_tokens, 100);
}

TEST(Sampling, greedy_takes_the_lowest_id_of_equal_logits) {
  SamplerOptions options;
  options.set_greedy();
  Sampler sampler = make(options, 50);
  EXPECT_EQ(*sampler.sample(std::vector<float>(50, 1.5F), 0, {}), 0);
}

TEST(Sampling, draws_follow_the_probabilities) {
  SamplerOptions options;
  options.temp = 1.0F;
  options.top_k = 0;
  options.top_p = 1.0F;
  Sampler sampler = make(options, 3);
  const std::vector<float> logits = {std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  std::array<int, 3> counts{};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<std::size_t>(*sampler.sample(logits, i, {}))];
  EXPECT_NEAR(counts[0], 0.2 * kDraws, 250);
  EXPECT_NEAR(counts[1], 0.5 * kDraws, 300);
  EXPECT_NEAR(counts[2], 0.3 * kDraws, 280);
}

TEST(Sampling, a_draw_depends_on_seed_attempt_and_position_alone) {
  EXPECT_EQ(uniform_draw(1, 0, 5), uniform_draw(1, 0, 5));
  EXPECT_NE(uniform_draw(1, 0, 5), uniform_draw(2, 0, 5));
  EXPECT_NE(uniform_draw(1, 0, 5), uniform_draw(1, 1, 5));
  EXPECT_NE(uniform_draw(1, 0, 5), uniform_draw(1, 0, 6));
}

TEST(Sampling, philox_known_answers) {
  // Known answers of the paper's Random123 package for the all-zero and all-one inputs.
  const std::array<std::uint32_t, 4> zero = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), zero);
  const std::uint32_t ones = 0xffffffff;
  const std::array<std::uint32_t, 4> one = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}), one);
}

TEST(Sampling, non_finite_logits_stop_loudly) {
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::infinity()}) {
    auto logits = random_logits(100, 1);
    logits[37] = bad;
    Sampler sampler = make({}, 100);
    const auto token = sampler.sample(logits, 12, {});
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.status().code(), StatusCode::kNumeric);
    EXPECT_NE(token.status().message().find("position 12"), std::string::npos);
    EXPECT_NE(token.status().message().find("37"), std::string::npos);
  }
}

TEST(Sampling, no_legal_token_is_an_error) {
  Sampler sampler = make({}, 2);
  const std::vector<TokenId> all = {0, 1};
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 2}, 0, all).status().code(), StatusCode::kNumeric);
}

/// Allows every id that is no multiple of 3 and counts what it is asked.
class NoMultipleOfThree final : public Constraint {
 public:
  explicit NoMultipleOfThree(std::size_t n_vocab) : bits_((n_vocab + 63) / 64) {
    for (std::size_t id = 0; id < n_vocab; ++id) {
      if (id % 3 != 0) bits_[id / 64] |= std::uint64_t{1} << (id % 64);
    }
  }
  Result<bool> allows(TokenId token) override {
    ++n_asked;
    return token % 3 != 0;
  }
  Result<std::span<const std::uint64_t>> allowed() override {
    ++n_masks;
    if (fails) return out_of_range("the grammar is too deep");
    return std::span<const std::uint64_t>(bits_);
  }
  Status accept(TokenId token) override {
    accepted.push_back(token);
    return ok_status();
  }
  void reset() override { accepted.clear(); }
  [[nodiscard]] bool is_complete() const override { return false; }

  int n_asked = 0;
  int n_masks = 0;
  bool fails = false;
  std::vector<TokenId> accepted;

 private:
  std::vector<std::uint64_t> bits_;
};

TEST(Sampling, a_constraint_is_a_ban_of_what_it_refuses) {
  constexpr std::size_t kVocab = 301;
  std::vector<TokenId> multiples;
  for (TokenId id = 0; id < static_cast<TokenId>(kVocab); id += 3) multiples.push_back(id);
  for (unsigned round = 0; round < 200; ++round) {
    SamplerOptions options;
    options.temp = round % 4 == 0 ? 0.0F : 1.3F;
    options.top_k = static_cast<std::int32_t>(std::array{0, 1, 40, 1000}[round / 4 % 4]);
    options.repeat_penalty = round % 3 == 0 ? 1.5F : 1.0F;
    options.logit_bias = {{static_cast<TokenId>(round % 7), 6.0F}};
    const auto logits = random_logits(kVocab, round);
    NoMultipleOfThree constraint(kVocab);
    Sampler sampler = make(options, kVocab);
    sampler.seed_window(std::vector<TokenId>{1, 2, 3});
    sampler.set_constraint(&constraint);
    const auto token = sampler.sample(logits, 5, {});
    ASSERT_TRUE(token.ok()) << token.status().message();
    ASSERT_EQ(*token, plain_sample(logits, options, {1, 2, 3}, {}, multiples, 5)) << round;
    ASSERT_TRUE(sampler.accept(*token).ok());
    EXPECT_EQ(constraint.accepted, std::vector<TokenId>{*token});
    sampler.set_constraint(nullptr);
    EXPECT_EQ(*sampler.sample(logits, 6, {}),
              plain_sample(logits, options, {1, 2, 3, *token}, {}, {}, 6));
  }
}

TEST(Sampling, greedy_asks_for_a_mask_only_where_the_best_token_is_refused) {
  SamplerOptions options;
  options.set_greedy();
  Sampler sampler = make(options, 100);
  NoMultipleOfThree constraint(100);
  sampler.set_constraint(&constraint);
  std::vector<float> logits(100, 0.0F);
  logits[4] = 5.0F;
  EXPECT_EQ(*sampler.sample(logits, 0, {}), 4);
  EXPECT_EQ(constraint.n_masks, 0);
  logits[6] = 9.0F;
  EXPECT_EQ(*sampler.sample(logits, 0, {}), 4);
  EXPECT_EQ(constraint.n_masks, 1);
  EXPECT_EQ(constraint.n_asked, 2);
}

TEST(Sampling, a_constraint_that_leaves_nothing_or_fails_stops_loudly) {
  for (const float temp : {0.0F, 1.0F}) {
    SamplerOptions options;
    options.temp = temp;
    Sampler sampler = make(options, 4);
    NoMultipleOfThree constraint(4);
    sampler.set_constraint(&constraint);
    const std::vector<TokenId> rest = {1, 2};
    const std::vector<float> logits = {3, 2, 1, 0};
    const Status status = sampler.sample(logits, 17, rest).status();
    EXPECT_EQ(status.code(), StatusCode::kNumeric);
    EXPECT_NE(status.message().find("no legal token at position 17"), std::string::npos);
    constraint.fails = true;
    EXPECT_EQ(sampler.sample(logits, 17, {}).status().message(), "the grammar is too deep");
  }
}

TEST(Sampling, options_out_of_range_are_named) {
  const auto message = [](auto&& change) {
    SamplerOptions options;
    change(options);
    return Sampler::create(options, 10, {}).status().message();
  };
  EXPECT_NE(message([](auto& o) { o.temp = -1; }).find("temp"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.temp = std::nanf(""); }).find("temp"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.top_p = 1.5F; }).find("top-p"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.repeat_penalty = 0; }).find("repeat-penalty"),
            std::string::npos);
  EXPECT_NE(message([](auto& o) { o.logit_bias = {{10, 1.0F}}; }).find("token 10"),
            std::string::npos);
}

}  // namespace
}  // namespace minfer::sampling
