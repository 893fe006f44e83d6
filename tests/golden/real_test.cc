// golden/real: the three real models against logits of their weights de-quantised to f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/golden/golden_data.h"
#include "tests/golden/runner.h"

namespace minfer::tests {
namespace {

constexpr double kMaxRatio = 1.05;  // of the peer's divergence
constexpr int kTopSlack = 2;        // fewer agreements than the peer's

struct Limit {
  double peer_kl;
  int peer_top;
};

struct RealModel {
  const char* name;
  std::array<Limit, 4> limits;  // prose, code, multilingual, chat
};

void PrintTo(const RealModel& model, std::ostream* out) { *out << model.name; }

struct Position {
  double lse = 0.0;               // log of the sum of exp of all logits
  std::vector<std::int32_t> ids;  // of the greatest logits, falling
  std::vector<double> logits;
};

struct Case {
  std::string name;
  std::vector<std::int32_t> tokens;
  std::vector<Position> positions;
};

std::vector<Case> read_cases(const std::string& text) {
  std::vector<Case> cases;
  JsonScanner json(text);
  while (json.find("name")) {
    Case& c = cases.emplace_back();
    c.name = json.string();
    JsonScanner tokens = json;
    if (tokens.find("tokens")) c.tokens = tokens.numbers<std::int32_t>();
    const std::size_t next_case = json.peek("name");
    while (json.peek("lse") < next_case) {
      Position& position = c.positions.emplace_back();
      json.find("lse");
      position.lse = json.number();
      json.find("ids");
      position.ids = json.numbers<std::int32_t>();
      json.find("logits");
      position.logits = json.numbers<double>();
    }
  }
  return cases;
}

double log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(double{logit} - most);
  return most + std::log(sum);
}

// KL(reference || got) over the 24 ids and the rest.
double divergence(const Position& reference, std::span<const float> got) {
  const double lse = log_sum_exp(got);
  double sum = 0.0;
  double rest_reference = 1.0;
  double rest_got = 1.0;
  for (std::size_t i = 0; i < reference.ids.size(); ++i) {
    const double log_p = reference.logits[i] - reference.lse;
    const double log_q = double{got[static_cast<std::size_t>(reference.ids[i])]} - lse;
    sum += std::exp(log_p) * (log_p - log_q);
    rest_reference -= std::exp(log_p);
    rest_got -= std::exp(log_q);
  }
  if (rest_reference > 1e-12) {
    sum += rest_reference * std::log(rest_reference / std::max(rest_got, 1e-12));
  }
  return sum;
}

class Real : public testing::TestWithParam<RealModel> {};

TEST_P(Real, divergence_and_top_one_are_those_of_the_peer) {
  const RealModel& model = GetParam();
  const auto golden = golden_folder() / "real" / (std::string(model.name) + ".json");
  const auto path = model_folder() / (std::string(model.name) + ".gguf");
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "no golden data at " << golden;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no model at " << path;
  const std::vector<Case> cases = read_cases(read_text(golden));
  ASSERT_EQ(cases.size(), model.limits.size());
  auto cpu = make_cpu();
  ASSERT_TRUE(cpu.ok()) << cpu.status().message();
  auto runner = Runner::create(path.string(), 256, std::move(cpu).value());
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    ASSERT_GT(c.tokens.size(), 48U);
    ASSERT_EQ(c.tokens.size(), c.positions.size());
    const auto logits = runner->logits(c.tokens, 512);
    ASSERT_TRUE(logits.ok()) << logits.status().message();
    const std::size_t n_vocab = logits->size() / c.tokens.size();
    double total = 0.0;
    int top = 0;
    for (std::size_t row = 0; row < c.positions.size(); ++row) {
      const auto got = std::span<const float>(*logits).subspan(row * n_vocab, n_vocab);
      total += divergence(c.positions[row], got);
      const auto best = std::max_element(got.begin(), got.end()) - got.begin();
      top += best == c.positions[row].ids[0] ? 1 : 0;
    }
    const double kl = total / static_cast<double>(c.positions.size());
    const Limit& limit = model.limits[i];
    std::printf("%s %s: KL %.3e (limit %.3e), top-1 %d of %zu (at least %d)\n", model.name,
                c.name.c_str(), kl, kMaxRatio * limit.peer_kl, top, c.positions.size(),
                limit.peer_top - kTopSlack);
    EXPECT_LE(kl, kMaxRatio * limit.peer_kl) << c.name;
    EXPECT_GE(kl, 0.0) << c.name;
    EXPECT_GE(top, limit.peer_top - kTopSlack) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Real,
    testing::Values(RealModel{"SmolLM2-135M-Instruct.Q4_1",
                              {{{1.93e-3, 75}, {2.52e-3, 83}, {3.78e-3, 114}, {3.53e-3, 78}}}},
                    RealModel{"gemma-3-270m-q4_k_m",
                              {{{2.94e-3, 74}, {5.42e-3, 86}, {5.49e-3, 94}, {2.35e-3, 68}}}},
                    RealModel{"qwen2.5-coder-0.5b-instruct-q4_k_m",
                              {{{7.06e-4, 77}, {3.44e-4, 81}, {9.64e-4, 101}, {8.81e-4, 79}}}}),
    [](const auto& test) { return std::string(test.param.name).substr(0, 5); });

}  // namespace
}  // namespace minfer::tests
