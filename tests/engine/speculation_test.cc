// Speculation changes nothing but time: the same run with and without it, compared with ==.
#include "engine/speculation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>

#include "engine/draft_model.h"
#include "engine/generate.h"
#include "engine/prompt_lookup.h"
#include "tests/engine/rig.h"
#include "tests/support/tiny_model.h"

namespace minfer::tests {
namespace {

using engine::TokenId;

struct Case {
  std::vector<TokenId> prompt;
  std::vector<TokenId> eog;
  std::vector<std::string> stops;
  sampling::SamplerOptions sampling;
  std::int32_t n_predict = -1;
  std::int32_t n_ctx = 0;
  std::int32_t batch_size = 512;
  bool ignore_eos = false;
};

/// A run's settings, drawn so that every way to end is met.
Case draw_case(unsigned seed, std::int64_t n_vocab) {
  std::mt19937 rng(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(rng() % n); };
  Case c;
  // A prompt that repeats itself gives the lookup something to find.
  const auto unit = test_ids(static_cast<std::size_t>(1 + below(9)), n_vocab, seed);
  for (std::int32_t i = 0; i <= below(8); ++i) {
    c.prompt.insert(c.prompt.end(), unit.begin(), unit.end());
  }
  c.sampling.seed = seed;
  if (below(2) == 0) {
    c.sampling.set_greedy();
  } else {
    c.sampling.temp = below(2) == 0 ? 0.3F : 1.5F;
    c.sampling.top_k = below(2) == 0 ? 3 : 40;
  }
  if (below(2) == 0) {
    c.sampling.repeat_penalty = 1.3F;
    c.sampling.frequency_penalty = 0.2F;
    c.sampling.repeat_last_n = 1 + below(20);
  }
  for (std::int32_t i = below(3); i > 0; --i) c.stops.push_back(below(2) == 0 ? "abc" : "gg");
  for (std::int32_t i = below(3) * 15; i > 0; --i) c.eog.push_back(below(300));
  c.ignore_eos = below(3) == 0;
  c.n_ctx = static_cast<std::int32_t>(c.prompt.size()) + 1 + below(70);
  if (below(2) == 0) c.n_predict = 1 + below(60);
  const std::int32_t batches[] = {1, 2, 5, 16, 512};
  c.batch_size = batches[below(5)];
  return c;
}

std::unique_ptr<engine::Session> open_session(const engine::Engine& engine, const Case& c) {
  engine::SessionOptions options;
  options.n_ctx = c.n_ctx;
  options.batch_size = c.batch_size;
  auto session = engine::Session::create(engine, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? std::move(session).value() : nullptr;
}

engine::GenerateResult run(engine::LogitsSource& source, const Case& c, std::int64_t n_vocab) {
  auto sampler = sampling::Sampler::create(c.sampling, n_vocab, c.eog);
  EXPECT_TRUE(sampler.ok());
  engine::GenerateOptions options;
  options.n_predict = c.n_predict;
  options.stops = c.stops;
  options.eog = c.eog;
  options.ignore_eos = c.ignore_eos;
  Letters letters;
  return engine::generate(source, *sampler, letters, c.prompt, options);
}

/// Guesses the text that a plain run gave, each token wrong with a probability.
class Oracle final : public engine::Draft {
 public:
  Oracle(std::vector<TokenId> text, unsigned wrong_percent, unsigned seed)
      : text_(std::move(text)), wrong_percent_(wrong_percent), rng_(seed) {}

  [[nodiscard]] std::span<const double> priors() const override { return kPriors; }
  void restart() override { at_ = 0; }
  Status observe(std::span<const TokenId> history) override {
    at_ = history.size();
    return ok_status();
  }
  std::optional<std::size_t> grade() override { return rng_() % 2; }
  Status propose(std::span<const TokenId> history, std::size_t n,
                 std::vector<TokenId>& out) override {
    EXPECT_EQ(history.size(), at_);
    out.clear();
    n = rng_() % 5 == 0 ? rng_() % (n + 1) : n;
    for (std::size_t i = at_; i < at_ + n; ++i) {
      const bool wrong = rng_() % 100 < wrong_percent_ || i >= text_.size();
      out.push_back(wrong ? static_cast<TokenId>(rng_() % 300) : text_[i]);
    }
    return ok_status();
  }

 private:
  static constexpr double kPriors[] = {0.9, 0.1};
  std::vector<TokenId> text_;
  unsigned wrong_percent_;
  std::mt19937 rng_;
  std::size_t at_ = 0;
};

/// A draft that fails at its n-th call.
class Failing final : public engine::Draft {
 public:
  explicit Failing(int calls) : calls_(calls) {}
  [[nodiscard]] std::span<const double> priors() const override { return kPriors; }
  void restart() override {}
  Status observe(std::span<const TokenId> history) override {
    static_cast<void>(history);
    return --calls_ < 0 ? internal_error("the draft is broken") : ok_status();
  }
  std::optional<std::size_t> grade() override { return 0; }
  Status propose(std::span<const TokenId> history, std::size_t n,
                 std::vector<TokenId>& out) override {
    out.assign(n, history.back());
    return --calls_ < 0 ? internal_error("the draft is broken") : ok_status();
  }

 private:
  static constexpr double kPriors[] = {0.9};
  int calls_;
};

/// Clocks that speculation must not be led astray by.
engine::SpeculativeSource::Clock clock_of(unsigned kind) {
  auto now = std::make_shared<double>(0);
  auto rng = std::make_shared<std::mt19937>(kind);
  return [now, rng, kind] {
    switch (kind % 5) {
      case 0:
        break;  // stands still
      case 1:
        *now += 1e-3;
        break;
      case 2:
        *now -= 1;  // runs backwards
        break;
      case 3:
        *now += static_cast<double>((*rng)() % 1000);
        break;
      default:
        *now = (*now + 1e-9) * 1.7;  // every step takes longer
    }
    return *now;
  };
}

class Speculation : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    TinyModelSpec spec;
    spec.arch = GetParam();
    model_ = load(spec, "model");
    spec.seed = 2;
    other_ = load(spec, "other");
    ASSERT_TRUE(model_ != nullptr && other_ != nullptr);
  }

  static std::unique_ptr<Rig> load(const TinyModelSpec& spec, const std::string& name) {
    const std::string path =
        testing::TempDir() + std::to_string(getpid()) + "minfer_spec_" + name + ".gguf";
    EXPECT_TRUE(write_tiny_model(spec, path).ok());
    auto rig = Rig::load(path);
    std::remove(path.c_str());
    return rig;
  }

  std::unique_ptr<engine::Draft> draft_model(const Rig& rig, const Case& c, std::int32_t n_ctx) {
    Case settings = c;
    settings.n_ctx = n_ctx;
    return std::make_unique<engine::DraftModel>(open_session(rig.engine(), settings),
                                                model_->n_vocab(), c.eog);
  }

  /// A plain run of the case, and what its session then says about one more token.
  struct Plain {
    engine::GenerateResult result;
    std::int32_t cursor = 0;
    std::vector<float> next;
  };
  Plain run_plain(const Case& c) {
    const auto session = open_session(model_->engine(), c);
    Plain plain;
    plain.result = run(*session, c, model_->n_vocab());
    plain.cursor = session->cursor();
    plain.next = one_more(*session);
    return plain;
  }
  static std::vector<float> one_more(engine::Session& session) {
    if (session.cursor() == session.n_ctx()) return {};
    const TokenId token = 5;
    const auto logits = session.advance({&token, 1});
    EXPECT_TRUE(logits.ok());
    return {logits->begin(), logits->end()};
  }

  engine::SpeculationCounts expect_same(const Case& c, const Plain& plain, engine::Draft& draft,
                                        engine::GainOptions gain, unsigned clock) {
    const auto session = open_session(model_->engine(), c);
    engine::SpeculativeSource source(*session, draft, gain, clock_of(clock));
    const engine::GenerateResult result = run(source, c, model_->n_vocab());
    EXPECT_EQ(result.ids, plain.result.ids);
    EXPECT_EQ(result.text, plain.result.text);
    EXPECT_EQ(result.finish, plain.result.finish);
    EXPECT_EQ(result.pending, plain.result.pending);
    EXPECT_EQ(result.n_prefill, plain.result.n_prefill);
    EXPECT_EQ(result.n_decode_steps, plain.result.n_decode_steps);
    EXPECT_EQ(source.cursor(), plain.cursor);
    EXPECT_EQ(session->cursor(), plain.cursor);
    EXPECT_TRUE(one_more(*session) == plain.next);
    EXPECT_LE(source.counts().accepted, source.counts().drafted);
    return source.counts();
  }

  std::unique_ptr<Rig> model_, other_;
};

TEST_P(Speculation, same_run_with_every_draft_and_clock) {
  engine::SpeculationCounts all;
  std::vector<int> endings(8, 0);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case c = draw_case(seed, model_->n_vocab());
    const Plain plain = run_plain(c);
    ++endings[static_cast<std::size_t>(plain.result.finish)];
    std::vector<TokenId> text = c.prompt;
    text.insert(text.end(), plain.result.ids.begin(), plain.result.ids.end());
    const std::int32_t max_drafts[] = {1, 2, 3, 8, 31};
    const engine::GainOptions gain{.max_draft = max_drafts[seed % 5], .always_on = seed % 3 != 0};

    std::vector<std::unique_ptr<engine::Draft>> drafts;
    drafts.push_back(std::make_unique<engine::PromptLookup>());
    drafts.push_back(draft_model(*model_, c, c.n_ctx));
    drafts.push_back(draft_model(*other_, c, std::max(1, c.n_ctx / 2)));
    for (const unsigned wrong : {0U, 10U, 50U, 100U}) {
      drafts.push_back(std::make_unique<Oracle>(text, wrong, seed));
    }
    drafts.push_back(std::make_unique<Failing>(static_cast<int>(seed % 9)));
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "draft " << i);
      const auto counts = expect_same(c, plain, *drafts[i], gain, seed + static_cast<unsigned>(i));
      all.rounds += counts.rounds;
      all.drafted += counts.drafted;
      all.accepted += counts.accepted;
    }
    if (HasFailure()) return;
  }
  // The comparison says something only if much was drafted, and much of it right and wrong.
  EXPECT_GT(all.rounds, 300);
  EXPECT_GT(all.accepted, 300);
  EXPECT_GT(all.drafted - all.accepted, 300);
  for (const auto finish : {engine::FinishReason::kEndOfGeneration, engine::FinishReason::kLength,
                            engine::FinishReason::kStopString, engine::FinishReason::kContext}) {
    EXPECT_GT(endings[static_cast<std::size_t>(finish)], 0) << engine::finish_reason_name(finish);
  }
}

TEST_P(Speculation, a_right_draft_saves_forwards) {
  Case c;
  c.prompt = test_ids(6, model_->n_vocab());
  c.sampling.set_greedy();
  c.n_predict = 101;
  c.n_ctx = 200;
  const Plain plain = run_plain(c);
  const auto draft = draft_model(*model_, c, c.n_ctx);
  const auto counts = expect_same(c, plain, *draft, {.max_draft = 3, .always_on = true}, 1);
  // One plain step that is measured, then four tokens a forward: 99 behind it.
  EXPECT_EQ(counts.rounds, 24);
  EXPECT_EQ(counts.accepted, counts.drafted);
  EXPECT_EQ(counts.drafted, 72);
}

INSTANTIATE_TEST_SUITE_P(Models, Speculation, testing::Values("llama", "gemma3"),
                         [](const auto& param_info) { return std::string(param_info.param); });

/// Counts what is run and where.
class Recorder final : public engine::RewindableSource {
 public:
  Result<std::span<const float>> advance(std::span<const TokenId> tokens) override {
    return note(tokens, false);
  }
  Result<std::span<const float>> advance_each(std::span<const TokenId> tokens) override {
    return note(tokens, true);
  }
  [[nodiscard]] std::int32_t cursor() const override { return cursor_; }
  [[nodiscard]] std::int32_t n_ctx() const override { return 64; }
  [[nodiscard]] std::int32_t max_rows() const override { return 32; }
  Status truncate(std::int32_t n) override {
    // As a model with recurrent state does: back to a checkpoint at a multiple of 4.
    cursor_ = std::min(cursor_, n / 4 * 4);
    stream.resize(static_cast<std::size_t>(cursor_));
    return ok_status();
  }

  std::vector<TokenId> stream;
  std::int32_t farthest = 0;
  int fail_at = -1;
  int calls = 0;

 private:
  Result<std::span<const float>> note(std::span<const TokenId> tokens, bool each) {
    if (++calls == fail_at) return cancelled("stopped");
    stream.insert(stream.end(), tokens.begin(), tokens.end());
    cursor_ += static_cast<std::int32_t>(tokens.size());
    farthest = std::max(farthest, cursor_);
    // The logits after a token name it.
    logits_.clear();
    for (const TokenId token : each ? tokens : tokens.last(1)) {
      logits_.push_back(static_cast<float>(token));
      logits_.push_back(0);
    }
    return std::span<const float>(logits_);
  }
  std::int32_t cursor_ = 0;
  std::vector<float> logits_;
};

TEST(SpeculativeSource, runs_nothing_at_or_past_the_horizon) {
  for (std::int32_t horizon = 5; horizon < 40; ++horizon) {
    Recorder source;
    engine::PromptLookup lookup;
    engine::SpeculativeSource ahead(source, lookup, {.max_draft = 31, .always_on = true},
                                    clock_of(1));
    ASSERT_TRUE(ahead.set_horizon(horizon).ok());
    const std::vector<TokenId> prompt = {1, 2, 3, 1, 2};
    ASSERT_TRUE(ahead.advance(prompt).ok());
    const TokenId cycle[] = {3, 1, 2};
    for (std::int32_t i = 0; 5 + i < horizon; ++i) {
      const auto logits = ahead.advance({&cycle[i % 3], 1});
      ASSERT_TRUE(logits.ok());
      ASSERT_EQ((*logits)[0], static_cast<float>(cycle[i % 3]));
      ASSERT_EQ(ahead.cursor(), 6 + i);
    }
    EXPECT_LE(source.farthest, horizon);
    // A plain step first, then a draft of three needs positions 7..9.
    EXPECT_EQ(horizon >= 10, ahead.counts().accepted > 0) << horizon;
  }
}

TEST(SpeculativeSource, state_that_goes_back_too_far_runs_again) {
  Recorder source;
  engine::PromptLookup lookup;
  engine::SpeculativeSource ahead(source, lookup, {.max_draft = 7, .always_on = true}, clock_of(1));
  std::vector<TokenId> text = {1, 2, 3, 4, 1, 2, 3, 4, 1};
  ASSERT_TRUE(ahead.advance(text).ok());
  for (const TokenId token : {2, 3, 9, 4, 1, 2, 9, 3, 4, 1, 2, 3, 9}) {
    text.push_back(token);
    const auto logits = ahead.advance({&token, 1});
    ASSERT_TRUE(logits.ok());
    ASSERT_EQ((*logits)[0], static_cast<float>(token));
  }
  EXPECT_GT(ahead.counts().drafted, ahead.counts().accepted);
  ASSERT_TRUE(ahead.set_horizon(ahead.cursor()).ok());
  EXPECT_EQ(source.stream, text);
}

TEST(SpeculativeSource, a_failed_step_leaves_the_cursor) {
  Recorder source;
  source.fail_at = 3;
  engine::PromptLookup lookup;
  engine::SpeculativeSource ahead(source, lookup, {.max_draft = 7, .always_on = true}, clock_of(1));
  ASSERT_TRUE(ahead.advance(std::vector<TokenId>{1, 2, 1, 2, 1}).ok());
  const std::vector<TokenId> next = {2, 1};
  ASSERT_TRUE(ahead.advance({&next[0], 1}).ok());
  const auto failed = ahead.advance({&next[1], 1});
  EXPECT_EQ(failed.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(ahead.cursor(), 6);
  ASSERT_TRUE(ahead.advance({&next[1], 1}).ok());
  EXPECT_EQ(ahead.cursor(), 7);
}

}  // namespace
}  // namespace minfer::tests
