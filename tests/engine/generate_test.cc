// The decode loop against a scripted source: what is run, what is drawn, what is shown.
#include "engine/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace minfer::engine {
namespace {

constexpr std::size_t kVocab = 64;
constexpr TokenId kEog = 63;

/// Makes token script[i] the likeliest one after i drawn tokens.
class ScriptedSource final : public LogitsSource {
 public:
  explicit ScriptedSource(std::vector<TokenId> script, std::int32_t n_ctx = 1000)
      : script_(std::move(script)), n_ctx_(n_ctx) {}

  Result<std::span<const float>> advance(std::span<const TokenId> tokens) override {
    ++calls;
    if (fail_at == calls) return cancelled("stopped");
    if (cursor_ + static_cast<std::int32_t>(tokens.size()) > n_ctx_) {
      return out_of_range("past the end");
    }
    stream.insert(stream.end(), tokens.begin(), tokens.end());
    cursor_ += static_cast<std::int32_t>(tokens.size());
    logits_.assign(kVocab, 0.0F);
    const std::size_t at = static_cast<std::size_t>(calls - 1);
    logits_[static_cast<std::size_t>(at < script_.size() ? script_[at] : kEog)] = 10.0F;
    if (poison_at == calls) logits_[5] = std::nanf("");
    return std::span<const float>(logits_);
  }
  [[nodiscard]] std::int32_t cursor() const override { return cursor_; }
  [[nodiscard]] std::int32_t n_ctx() const override { return n_ctx_; }

  int calls = 0;
  int fail_at = -1;
  int poison_at = -1;
  std::vector<TokenId> stream;

 private:
  std::vector<TokenId> script_;
  std::int32_t n_ctx_;
  std::int32_t cursor_ = 0;
  std::vector<float> logits_;
};

class PieceBytes final : public TokenBytes {
 public:
  explicit PieceBytes(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  void append(TokenId token, std::string& out) override {
    if (static_cast<std::size_t>(token) < pieces_.size())
      out += pieces_[static_cast<std::size_t>(token)];
  }

 private:
  std::vector<std::string> pieces_;
};

struct LoopRun {
  std::vector<std::string> pieces = {"al", "pha b", "eta ga", "mma delta", "\xF0\x9F", "\xA6\x99"};
  std::vector<TokenId> script;
  std::int32_t n_ctx = 1000;
  GenerateOptions options;

  GenerateResult run(ScriptedSource& source, std::vector<TokenId> prompt = {7, 8, 9}) {
    static const std::vector<TokenId> eog = {kEog};
    options.eog = eog;
    sampling::SamplerOptions greedy;
    greedy.set_greedy();
    auto sampler = sampling::Sampler::create(greedy, kVocab, eog);
    PieceBytes bytes(pieces);
    streamed.clear();
    if (!options.on_text) {
      options.on_text = [this](std::string_view text) {
        streamed += text;
        return true;
      };
    }
    return generate(source, *sampler, bytes, prompt, options);
  }
  std::string streamed;
};

TEST(DecodeLoop, no_forward_after_the_last_token) {
  LoopRun setup;
  setup.options.n_predict = 3;
  ScriptedSource source({0, 1, 2, 3});
  const GenerateResult result = setup.run(source);
  EXPECT_EQ(result.finish, FinishReason::kLength);
  EXPECT_EQ(result.ids, (std::vector<TokenId>{0, 1, 2}));
  EXPECT_EQ(source.calls, 3);  // one prefill, two decode forwards
  EXPECT_EQ(result.n_decode_steps, 2);
  EXPECT_EQ(source.stream, (std::vector<TokenId>{7, 8, 9, 0, 1}));
  EXPECT_EQ(result.pending, (std::vector<TokenId>{2}));
}

TEST(DecodeLoop, zero_tokens_need_no_forward) {
  LoopRun setup;
  setup.options.n_predict = 0;
  ScriptedSource source({0});
  const GenerateResult result = setup.run(source);
  EXPECT_EQ(result.finish, FinishReason::kLength);
  EXPECT_EQ(source.calls, 0);
}

TEST(DecodeLoop, end_of_generation_is_pending_not_text) {
  LoopRun setup;
  ScriptedSource source({0, 1});
  const GenerateResult result = setup.run(source);
  EXPECT_EQ(result.finish, FinishReason::kEndOfGeneration);
  EXPECT_EQ(result.text, "alpha b");
  EXPECT_EQ(setup.streamed, result.text);
  EXPECT_EQ(result.pending, (std::vector<TokenId>{kEog}));
  EXPECT_EQ(source.stream, (std::vector<TokenId>{7, 8, 9, 0, 1}));
}

TEST(DecodeLoop, ignore_eos_draws_something_else) {
  LoopRun setup;
  setup.options.n_predict = 4;
  setup.options.ignore_eos = true;
  ScriptedSource source({0});
  const GenerateResult result = setup.run(source);
  EXPECT_EQ(result.finish, FinishReason::kLength);
  EXPECT_EQ(std::count(result.ids.begin(), result.ids.end(), kEog), 0);
}

TEST(DecodeLoop, stop_string_across_tokens) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"beta gamma"}, "alpha "},
      {{"gamma del", "beta"}, "alpha "},
      {{"a"}, ""},
      {{"ta g"}, "alpha be"},
      {{"delta!"}, "alpha beta gamma delta"}};
  for (const auto& [stops, expected] : cases) {
    LoopRun setup;
    setup.options.stops = stops;
    std::string seen;
    setup.options.on_text = [&](std::string_view text) {
      seen += text;
      // Nothing shown may ever have to be taken back.
      EXPECT_TRUE(expected.starts_with(seen)) << seen;
      return true;
    };
    ScriptedSource source({0, 1, 2, 3});
    const GenerateResult result = setup.run(source);
    EXPECT_EQ(result.text, expected);
    EXPECT_EQ(seen, expected);
  }
}

TEST(DecodeLoop, characters_are_whole_or_replaced_at_the_end) {
  LoopRun setup;
  ScriptedSource whole({4, 5});
  EXPECT_EQ(setup.run(whole).text, "🦙");
  LoopRun cut;
  cut.options.n_predict = 1;
  ScriptedSource half({4, 5});
  EXPECT_EQ(cut.run(half).text, "\xEF\xBF\xBD");
}

TEST(DecodeLoop, a_full_context_stops_cleanly) {
  LoopRun setup;
  ScriptedSource source({0, 0, 0, 0, 0, 0, 0, 0, 0}, 8);
  const GenerateResult result = setup.run(source);
  EXPECT_EQ(result.finish, FinishReason::kContext);
  EXPECT_EQ(result.ids.size(), 5U);  // 3 + 5 = 8
  EXPECT_TRUE(result.status.ok());
}

TEST(DecodeLoop, failure_and_cancel_keep_the_text) {
  LoopRun setup;
  ScriptedSource cancelled_source({0, 1, 2, 3});
  cancelled_source.fail_at = 3;
  GenerateResult result = setup.run(cancelled_source);
  EXPECT_EQ(result.finish, FinishReason::kCancelled);
  EXPECT_EQ(result.text, "alpha b");

  LoopRun poisoned;
  ScriptedSource poisoned_source({0, 1, 2, 3});
  poisoned_source.poison_at = 3;
  result = poisoned.run(poisoned_source);
  EXPECT_EQ(result.finish, FinishReason::kFailed);
  EXPECT_EQ(result.status.code(), StatusCode::kNumeric);
  EXPECT_EQ(result.text, "alpha b");
}

TEST(DecodeLoop, a_reader_that_is_gone_ends_the_run) {
  LoopRun setup;
  setup.options.on_text = [](std::string_view) { return false; };
  ScriptedSource source({0, 1, 2, 3});
  EXPECT_EQ(setup.run(source).finish, FinishReason::kCancelled);
  EXPECT_EQ(source.calls, 1);
}

}  // namespace
}  // namespace minfer::engine
