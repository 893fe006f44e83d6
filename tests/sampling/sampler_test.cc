// The sampler chain against a plain re-computation that sorts and copies everything.
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sampling/random.h"
#include "tests/sampling/plain_chain.h"

namespace {
std::size_t n_allocations = 0;

void* counted(std::size_t size) {
  ++n_allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace minfer::sampling {
namespace {

std::vector<float> random_logits(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(n);
  for (float& logit : logits) logit = normal(rng);
  return logits;
}

Sampler make(const SamplerOptions& options, std::int64_t n_vocab,
             const std::vector<TokenId>& eog = {}, TokenStrings bytes = nullptr) {
  auto sampler = Sampler::create(options, n_vocab, eog, std::move(bytes));
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return std::move(sampler).value();
}

std::string describe(const SamplerOptions& options) {
  std::string text;
  for (const SamplerNumberRow& row : sampler_number_table()) {
    const double value =
        std::visit([&](auto field) { return static_cast<double>(options.*field); }, row.field);
    text += std::string(row.option) + " " + std::to_string(value) + ", ";
  }
  return text;
}

/// Short strings in which the breakers of random_options() are whole tokens, parts, or split.
std::vector<std::string> some_bytes(std::size_t n) {
  const std::vector<std::string> pieces = {"a", "b\n", "--",   "-",   "x-",
                                           ":", " c",  "\n\n", "d:e", ""};
  std::vector<std::string> bytes;
  for (std::size_t id = 0; id < n; ++id) bytes.push_back(pieces[id % pieces.size()]);
  return bytes;
}

TokenStrings shared(std::vector<std::string> bytes) {
  return std::make_shared<const std::vector<std::string>>(std::move(bytes));
}

SamplerOptions random_options(std::mt19937& rng, std::int64_t n_vocab) {
  const auto pick = [&](auto... values) {
    const std::array<float, sizeof...(values)> list{static_cast<float>(values)...};
    return list[rng() % list.size()];
  };
  const auto whole = [&](auto... values) { return static_cast<std::int32_t>(pick(values...)); };
  SamplerOptions options;
  options.temp = pick(0, 0.01, 0.3, 0.8, 0.8, 1.5, 100);
  options.top_k = whole(0, 0, 1, 5, 40, 1000);
  options.typical = pick(1, 1, 1, 0.9, 0.5, 0.2, 0);
  options.top_p = pick(1, 1, 0.95, 0.5, 0);
  options.min_p = pick(0, 0, 0.05, 0.5, 1);
  options.top_n_sigma = pick(-1, -1, 0, 1, 2.5, 0.01);
  options.xtc_probability = pick(0, 0, 0.5, 1);
  options.xtc_threshold = pick(0.1, 0.01, 0, 0.5, 1);
  options.repeat_penalty = pick(1, 1, 1.3, 0.7);
  options.frequency_penalty = pick(0, 0, 0.4, -0.4);
  options.presence_penalty = pick(0, 0, 0.6);
  options.repeat_last_n = whole(0, 3, 64, 64, -1);
  options.dry_multiplier = pick(0, 0, 0.8, 3);
  options.dry_base = pick(1.75, 1, 4);
  options.dry_allowed_length = whole(2, 1, 4);
  options.dry_penalty_last_n = whole(64, 0, 1, 10, -1);
  options.mirostat = whole(0, 0, 0, 1, 2);
  options.mirostat_tau = pick(5, 1, 0);
  options.mirostat_eta = pick(0.1, 1, 0);
  options.seed = rng();
  options.attempt = static_cast<std::uint32_t>(rng() % 3);
  if (rng() % 2 == 0) options.dry_sequence_breakers = {"---", ":"};
  if (rng() % 2 == 0) {
    const auto token = [&] { return static_cast<TokenId>(rng() % static_cast<unsigned>(n_vocab)); };
    options.logit_bias = {{token(), 4.0F}, {token(), -100.0F}, {token(), 0.5F}, {token(), kNever}};
  }
  return options;
}

/// Normal ones, or with ties, with impossible tokens, all equal, far apart, or nearly certain.
std::vector<float> odd_logits(std::size_t n, unsigned kind, unsigned seed) {
  auto logits = random_logits(n, seed);
  for (std::size_t i = 0; i < n; ++i) {
    if (kind == 1) logits[i] = std::round(logits[i]);
    if (kind == 2 && i % 3 != 1) logits[i] = kNever;
    if (kind == 3) logits[i] = -2.5F;
    if (kind == 4) logits[i] *= 1e6F;
    if (kind == 5) logits[i] = i == n / 2 ? 40.0F : logits[i] / 3.0F;
  }
  return logits;
}

/// Allows some ids, whatever came before, and counts what it is asked.
class FixedMask final : public Constraint {
 public:
  explicit FixedMask(std::vector<bool> allowed)
      : allowed_(std::move(allowed)), bits_((allowed_.size() + 63) / 64) {
    for (std::size_t id = 0; id < allowed_.size(); ++id) {
      if (allowed_[id]) bits_[id / 64] |= std::uint64_t{1} << (id % 64);
    }
  }
  Result<bool> allows(TokenId token) override {
    ++n_asked;
    return static_cast<bool>(allowed_[static_cast<std::size_t>(token)]);
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
  std::vector<bool> allowed_;
  std::vector<std::uint64_t> bits_;
};

std::vector<bool> no_multiples_of_three(std::size_t n_vocab) {
  std::vector<bool> allowed(n_vocab);
  for (std::size_t id = 0; id < n_vocab; ++id) allowed[id] = id % 3 != 0;
  return allowed;
}

TEST(Sampling, chain_equals_plain_recomputation) {
  std::mt19937 rng(7);
  std::set<TokenId> tokens;
  std::array<int, 2> ends{};
  for (unsigned round = 0; round < 4000; ++round) {
    const std::size_t n_vocab =
        std::array<std::size_t, 7>{300, 300, 64, 1000, 5000, 5, 2}[rng() % 7];
    PlainInput plain;
    plain.options = random_options(rng, static_cast<std::int64_t>(n_vocab));
    plain.eog = {1};
    if (rng() % 2 == 0) plain.banned = plain.eog;
    if (rng() % 2 == 0) plain.token_bytes = some_bytes(n_vocab);
    plain.mu = 2.0 * static_cast<double>(plain.options.mirostat_tau);
    for (int i = 0; i < 80; ++i) {
      const unsigned letters = static_cast<unsigned>(std::min<std::size_t>(n_vocab, 4 + round % 9));
      plain.history.push_back(static_cast<TokenId>(rng() % letters));
    }
    Sampler sampler = make(plain.options, static_cast<std::int64_t>(n_vocab), plain.eog,
                           plain.token_bytes.empty() ? nullptr : shared(plain.token_bytes));
    sampler.seed_window(plain.history);
    if (rng() % 3 == 0) {
      const auto one_in = 1 + rng() % 9;
      for (std::size_t id = 0; id < n_vocab; ++id) plain.allowed.push_back(rng() % one_in == 0);
    }
    FixedMask constraint(plain.allowed);
    if (!plain.allowed.empty()) sampler.set_constraint(&constraint);
    for (plain.position = 0; plain.position < 4; ++plain.position) {
      const auto kind = static_cast<unsigned>(rng() % 6);
      plain.logits = odd_logits(n_vocab, kind, static_cast<unsigned>(rng()));
      const auto token = sampler.sample(plain.logits, plain.position, plain.banned);
      const TokenId expected = plain_sample(plain);
      ++ends[token.ok() ? 1 : 0];
      ASSERT_EQ(token.ok() ? *token : -1, expected)
          << "round " << round << ": " << describe(plain.options)
          << (token.ok() ? "" : token.status().message());
      ASSERT_NEAR(sampler.mu(), plain.mu, 1e-9) << describe(plain.options);
      if (!token.ok()) break;
      tokens.insert(*token);
      ASSERT_TRUE(sampler.accept(*token).ok());
      plain.history.push_back(*token);
    }
  }
  EXPECT_GT(tokens.size(), 300U);
  EXPECT_GT(ends[0], 10);
}

TEST(Sampling, draws_deep_in_the_order_equal_plain_recomputation) {
  std::mt19937 rng(23);
  for (unsigned round = 0; round < 150; ++round) {
    constexpr std::size_t kVocab = 5003;
    PlainInput plain;
    SamplerOptions& options = plain.options;
    options.top_k = 0;
    options.top_p = 1.0F;
    options.temp = std::array{1.0F, 3.0F, 100.0F}[round % 3];
    options.seed = rng();
    options.presence_penalty = round % 2 == 0 ? 3.0F : 0.0F;
    plain.logits = odd_logits(kVocab, round % 5, round);
    // Some clearly likelier ones, which XTC leaves out.
    options.xtc_probability = round % 4 == 0 ? 0.0F : 1.0F;
    options.xtc_threshold = 0.01F;
    for (std::size_t i = 0; i < 8; ++i) plain.logits[i * 601] = 20.0F + static_cast<float>(i) / 8;
    for (TokenId i = 0; i < 40; ++i) plain.history.push_back(i * 61);
    if (round % 7 == 0) {
      for (std::size_t id = 0; id < kVocab; ++id) plain.allowed.push_back(rng() % 3 != 0);
    }
    Sampler sampler = make(options, kVocab);
    sampler.seed_window(plain.history);
    FixedMask constraint(plain.allowed);
    if (!plain.allowed.empty()) sampler.set_constraint(&constraint);
    for (plain.position = 0; plain.position < 5; ++plain.position) {
      ASSERT_EQ(*sampler.sample(plain.logits, plain.position, {}), plain_sample(plain)) << round;
    }
  }
}

TEST(Sampling, a_token_allocates_nothing) {
  std::mt19937 rng(17);
  for (int round = 0; round < 300; ++round) {
    constexpr std::size_t kVocab = 3000;
    const SamplerOptions options = random_options(rng, kVocab);
    Sampler sampler = make(options, kVocab, {1}, shared(some_bytes(kVocab)));
    FixedMask constraint(std::vector<bool>(kVocab, true));
    constraint.accepted.reserve(100);
    if (round % 2 == 0) sampler.set_constraint(&constraint);
    const auto logits = odd_logits(kVocab, static_cast<unsigned>(rng() % 6), 5);
    const std::vector<TokenId> banned = {1};
    const std::size_t before = n_allocations;
    for (std::int64_t position = 0; position < 20; ++position) {
      const auto token = sampler.sample(logits, position, banned);
      ASSERT_TRUE(token.ok());
      ASSERT_TRUE(sampler.accept(*token).ok());
    }
    ASSERT_EQ(n_allocations, before) << describe(options);
  }
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
  EXPECT_EQ(draws_at(1, 0, 5).token, draws_at(1, 0, 5).token);
  EXPECT_NE(draws_at(1, 0, 5).token, draws_at(2, 0, 5).token);
  EXPECT_NE(draws_at(1, 0, 5).token, draws_at(1, 1, 5).token);
  EXPECT_NE(draws_at(1, 0, 5).token, draws_at(1, 0, 6).token);
  EXPECT_NE(draws_at(1, 0, 5).token, draws_at(1, 0, 5).coin);
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
    PlainInput plain;
    plain.options = options;
    plain.logits = random_logits(kVocab, round);
    plain.history = {1, 2, 3};
    plain.banned = multiples;
    plain.position = 5;
    FixedMask constraint(no_multiples_of_three(kVocab));
    Sampler sampler = make(options, kVocab);
    sampler.seed_window(plain.history);
    sampler.set_constraint(&constraint);
    const auto token = sampler.sample(plain.logits, 5, {});
    ASSERT_TRUE(token.ok()) << token.status().message();
    ASSERT_EQ(*token, plain_sample(plain)) << round;
    ASSERT_TRUE(sampler.accept(*token).ok());
    EXPECT_EQ(constraint.accepted, std::vector<TokenId>{*token});
    sampler.set_constraint(nullptr);
    plain.history.push_back(*token);
    plain.banned.clear();
    plain.position = 6;
    EXPECT_EQ(*sampler.sample(plain.logits, 6, {}), plain_sample(plain));
  }
}

TEST(Sampling, greedy_asks_for_a_mask_only_where_the_best_token_is_refused) {
  SamplerOptions options;
  options.set_greedy();
  Sampler sampler = make(options, 100);
  FixedMask constraint(no_multiples_of_three(100));
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
    FixedMask constraint(no_multiples_of_three(4));
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
