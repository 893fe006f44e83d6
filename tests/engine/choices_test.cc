// Replies drawn side by side against each of them drawn alone.
#include "engine/choices.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "rig.h"
#include "tests/support/tiny_model.h"

namespace minfer::tests {
namespace {

using engine::TokenId;

class Choices : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = testing::TempDir() + std::to_string(getpid()) + "minfer_choices.gguf";
    ASSERT_TRUE(write_tiny_model({}, path).ok());
    rig_ = Rig::load(path);
    std::remove(path.c_str());
    ASSERT_NE(rig_, nullptr);
    prompt_ = test_ids(37, rig_->n_vocab(), 3);
    options_.eog = eog_;
    options_.stops = {"gab"};
    settings_.temp = 1.5F;
    settings_.repeat_penalty = 1.2F;
  }

  std::unique_ptr<engine::Session> open(std::int32_t max_sequences) {
    engine::SessionOptions options;
    options.n_ctx = 128;
    options.max_sequences = max_sequences;
    auto session = engine::Session::create(rig_->engine(), options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    return std::move(session).value();
  }

  sampling::Sampler sampler(std::uint32_t attempt) {
    sampling::SamplerOptions settings = settings_;
    settings.attempt = attempt;
    auto made = sampling::Sampler::create(settings, rig_->n_vocab(), eog_);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }

  Result<std::vector<engine::GenerateResult>> together(engine::Session& session, std::uint32_t n) {
    std::deque<sampling::Sampler> samplers;
    std::deque<Letters> letters(n);
    std::vector<engine::Choice> choices;
    for (std::uint32_t i = 0; i < n; ++i) {
      samplers.push_back(sampler(i));
      choices.push_back({&samplers.back(), &letters[i], options_});
    }
    return engine::generate_choices(session, choices, prompt_);
  }

  std::unique_ptr<Rig> rig_;
  std::vector<TokenId> prompt_;
  std::vector<TokenId> eog_ = {7, 77, 177};
  engine::GenerateOptions options_;
  sampling::SamplerOptions settings_;
};

TEST_F(Choices, each_is_what_a_run_of_its_own_draws) {
  const auto session = open(9);
  const auto drawn = together(*session, 8);
  ASSERT_TRUE(drawn.ok()) << drawn.status().message();
  ASSERT_EQ(drawn->size(), 8U);
  EXPECT_EQ(drawn->front().n_prefill, 37);
  EXPECT_EQ(session->cursor(), 37);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto alone = open(1);
    sampling::Sampler own = sampler(i);
    Letters letters;
    const auto expected = engine::generate(*alone, own, letters, prompt_, options_);
    EXPECT_EQ((*drawn)[i].ids, expected.ids) << i;
    EXPECT_EQ((*drawn)[i].text, expected.text);
    EXPECT_EQ((*drawn)[i].finish, expected.finish);
    EXPECT_EQ((*drawn)[i].pending, expected.pending);
  }
  EXPECT_NE((*drawn)[0].ids, (*drawn)[1].ids);
}

TEST_F(Choices, caps_and_nothing_to_draw) {
  options_.n_predict = 1;
  auto session = open(9);
  auto drawn = together(*session, 8);
  ASSERT_TRUE(drawn.ok());
  EXPECT_EQ(drawn->front().n_decode_steps, 0);  // nobody reads a second row
  for (const auto& result : *drawn) EXPECT_LE(result.ids.size(), 1U);
  options_.n_predict = 0;
  session = open(9);
  drawn = together(*session, 2);
  ASSERT_TRUE(drawn.ok());
  EXPECT_EQ(session->cursor(), 0);
  EXPECT_EQ((*drawn)[1].finish, engine::FinishReason::kLength);
}

TEST_F(Choices, too_many_for_the_session_is_an_error) {
  const auto session = open(3);
  EXPECT_EQ(together(*session, 8).status().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(together(*open(3), 2).ok());
}

}  // namespace
}  // namespace minfer::tests
