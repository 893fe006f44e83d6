// DRY and its sequence breakers on texts whose repetitions can be counted by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/sequence_breakers.h"

namespace minfer::sampling {
namespace {

constexpr std::size_t kVocab = 128;

/// Tokens that are characters.
std::vector<std::string> letters() {
  std::vector<std::string> bytes;
  for (std::size_t id = 0; id < kVocab; ++id) bytes.emplace_back(1, static_cast<char>(id));
  return bytes;
}

/// By how much DRY lowers `token` behind `text`, to 0.01: the gap to the next best token that it
/// just holds against.
double penalty(std::string_view text, TokenId token, SamplerOptions options = {},
               const std::vector<std::string>& bytes = letters(),
               const std::vector<TokenId>& eog = {}) {
  options.temp = 0.0F;
  options.repeat_last_n = 0;
  if (options.dry_multiplier == 0.0F) options.dry_multiplier = 1.0F;
  auto sampler = Sampler::create(options, kVocab, eog,
                                 std::make_shared<const std::vector<std::string>>(bytes));
  EXPECT_TRUE(sampler.ok());
  sampler->seed_window(std::vector<TokenId>(text.begin(), text.end()));
  std::vector<float> logits(kVocab, -1000.0F);
  logits[0] = 0.0F;
  double low = -0.005;
  double high = 500.0;
  while (high - low > 0.001) {
    const double middle = (low + high) / 2;
    logits[static_cast<std::size_t>(token)] = static_cast<float>(middle);
    (*sampler->sample(logits, 0, {}) == token ? high : low) = middle;
  }
  return high;
}

TEST(Dry, grows_with_the_length_of_the_repetition) {
  EXPECT_NEAR(penalty("abcd xab", 'c'), 1.0, 0.01);
  EXPECT_NEAR(penalty("abcd xabc", 'd'), 1.75, 0.01);
  EXPECT_NEAR(penalty("zabcd xzabc", 'd'), 1.75 * 1.75, 0.01);
  EXPECT_NEAR(penalty("abcd xabc", 'c'), 0.0, 0.01);
  EXPECT_NEAR(penalty("abcd xa", 'b'), 0.0, 0.01);
  // The longest of two repetitions counts, each token by its own.
  EXPECT_NEAR(penalty("bcd abcd xabc", 'd'), 1.75, 0.01);
  EXPECT_NEAR(penalty("bce abcd xabc", 'e'), 1.0, 0.01);
  // Repetitions may overlap with themselves.
  EXPECT_NEAR(penalty("aaaaa", 'a'), 1.75 * 1.75, 0.01);
}

TEST(Dry, options) {
  SamplerOptions options;
  options.dry_multiplier = 2.0F;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 3.5, 0.01);
  options.dry_base = 3.0F;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 6.0, 0.01);
  options.dry_allowed_length = 3;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 2.0, 0.01);
  options.dry_allowed_length = 4;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 0.0, 0.01);
  options = {};
  options.dry_penalty_last_n = 9;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 1.75, 0.01);
  options.dry_penalty_last_n = 8;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 1.0, 0.01) << "bc is left";
  options.dry_penalty_last_n = 0;
  EXPECT_NEAR(penalty("abcd xabc", 'd', options), 0.0, 0.01);
  options.dry_penalty_last_n = -1;
  EXPECT_NEAR(penalty("abcd x" + std::string(5000, '.') + "abc", 'd', options), 1.75, 0.01);
}

TEST(Dry, no_repetition_reaches_across_a_breaker) {
  EXPECT_NEAR(penalty("a:cd xa:c", 'd'), 0.0, 0.01);
  EXPECT_NEAR(penalty("a:bcd xa:bc", 'd'), 1.0, 0.01);
  EXPECT_NEAR(penalty("abc: xabc", ':'), 0.0, 0.01) << "a breaker may come";
  SamplerOptions options;
  options.dry_sequence_breakers = {};
  EXPECT_NEAR(penalty("a:cd xa:c", 'd', options), 1.75, 0.01);
  options.dry_sequence_breakers = {"--", "xyz"};
  EXPECT_NEAR(penalty("a--bcd xa--bc", 'd', options), 1.0, 0.01);
  EXPECT_NEAR(penalty("a-bcd xa-bc", 'd', options), 1.75 * 1.75, 0.01);
  EXPECT_NEAR(penalty("ab-- xab-", '-', options), 0.0, 0.01) << "it completes the breaker";
  // However tokens spell it: 'p' stands for "-", 'q' for "xy", 'r' for "zb".
  std::vector<std::string> bytes = letters();
  bytes['p'] = "-";
  bytes['q'] = "xy";
  bytes['r'] = "zb";
  EXPECT_NEAR(penalty("ap-bcd vap-bc", 'd', options, bytes), 1.0, 0.01);
  EXPECT_NEAR(penalty("aqrcd vaqrc", 'd', options, bytes), 0.0, 0.01);
  EXPECT_NEAR(penalty("aqrced vaqrce", 'd', options, bytes), 1.0, 0.01);
}

TEST(Dry, never_lowers_the_end_nor_makes_a_token_impossible) {
  EXPECT_NEAR(penalty("abcd xabc", 'd', {}, letters(), {'d'}), 0.0, 0.01);
  SamplerOptions options;
  options.temp = 0.0F;
  options.dry_multiplier = 100.0F;
  options.dry_base = 100.0F;
  options.dry_penalty_last_n = -1;
  auto sampler = Sampler::create(options, 2, {});
  ASSERT_TRUE(sampler.ok());
  sampler->seed_window(std::vector<TokenId>(1000, 1));
  EXPECT_EQ(*sampler->sample(std::vector<float>{kNever, 3.0F}, 0, {}), 1);
}

TEST(Dry, is_linear_in_the_window) {
  SamplerOptions options;
  options.dry_multiplier = 1.0F;
  options.dry_penalty_last_n = -1;
  auto sampler = Sampler::create(options, 2, {});
  ASSERT_TRUE(sampler.ok());
  sampler->seed_window(std::vector<TokenId>(500000, 1));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(sampler->sample(std::vector<float>{0.0F, 3.0F}, 0, {}).ok());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 5.0) << "500,000 squared comparisons take minutes";
}

TEST(SequenceBreakers, are_found_across_any_split) {
  const std::vector<std::string> strings = {"aab", "abab", "", "b\n"};
  const std::string text = "aaabababb\nabaabb\n\nbab";
  for (std::size_t cut_bits = 0; cut_bits < 4096; ++cut_bits) {
    SequenceBreakers breakers(strings);
    std::size_t from = 0;
    for (std::size_t to = 1; to <= text.size(); ++to) {
      if (to < text.size() && ((cut_bits >> (to % 12)) & 1) == 0) continue;
      bool expected = false;
      for (const std::string& each : strings) {
        for (std::size_t end = from + 1; end <= to && !each.empty(); ++end) {
          if (end >= each.size() && text.compare(end - each.size(), each.size(), each) == 0) {
            expected = true;
          }
        }
      }
      const std::string_view piece = std::string_view(text).substr(from, to - from);
      ASSERT_EQ(breakers.would_end_in(piece), expected) << cut_bits << " at " << to;
      ASSERT_EQ(breakers.feed(piece), expected) << cut_bits << " at " << to;
      from = to;
    }
  }
}

}  // namespace
}  // namespace minfer::sampling
