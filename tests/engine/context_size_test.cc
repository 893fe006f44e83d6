#include "engine/context_size.h"

#include <gtest/gtest.h>

namespace minfer::engine {
namespace {

ContextRequest request() {
  ContextRequest r;
  r.trained = 8192;
  r.weight_bytes = 100 << 20;
  r.kv_bytes_per_position = 23040;
  r.memory = {std::uint64_t{8} << 30, "free memory"};
  r.n_prompt = 5;
  r.n_predict = 100;
  return r;
}

TEST(ContextSize, auto_takes_the_trained_length_where_it_fits) {
  EXPECT_EQ(choose_context(request())->n_ctx, 8192);
}

TEST(ContextSize, auto_is_lowered_to_three_quarters_of_memory) {
  ContextRequest r = request();
  r.memory.bytes = 200 << 20;
  const auto choice = choose_context(r);
  EXPECT_EQ(choice->n_ctx % 64, 0);
  EXPECT_LE(r.weight_bytes + static_cast<std::uint64_t>(choice->n_ctx) * r.kv_bytes_per_position,
            r.memory.bytes / 4 * 3);
  EXPECT_GT(
      r.weight_bytes + static_cast<std::uint64_t>(choice->n_ctx + 64) * r.kv_bytes_per_position,
      r.memory.bytes / 4 * 3);
  EXPECT_NE(choice->reason.find("free memory"), std::string::npos);
}

TEST(ContextSize, an_explicit_value_holds) {
  ContextRequest r = request();
  r.wanted = 256;
  r.n_predict = 1000;
  EXPECT_EQ(choose_context(r)->n_ctx, 256);
  EXPECT_TRUE(choose_context(r)->note.empty());
}

TEST(ContextSize, only_a_prompt_that_does_not_fit_raises_it) {
  ContextRequest r = request();
  r.wanted = 256;
  r.n_prompt = 401;
  r.n_predict = 20;
  EXPECT_EQ(choose_context(r)->n_ctx, 421);
  EXPECT_FALSE(choose_context(r)->note.empty());
  r.n_predict = -1;
  EXPECT_EQ(choose_context(r)->n_ctx, 8192);
}

TEST(ContextSize, a_prompt_past_the_trained_length_is_refused_with_both_sizes) {
  ContextRequest r = request();
  r.n_prompt = 8192;
  const auto choice = choose_context(r);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), StatusCode::kOutOfRange);
  EXPECT_NE(choice.status().message().find("8192 tokens"), std::string::npos);
}

TEST(ContextSize, a_copy_of_the_weights_needs_room_for_the_kv_and_a_tenth) {
  const MemoryLimit memory{1100, "free memory"};
  EXPECT_TRUE(copy_fits(memory, 600, 400));
  EXPECT_FALSE(copy_fits(memory, 600, 401));
  EXPECT_FALSE(copy_fits(memory, 1001, 0));
  EXPECT_FALSE(copy_fits(memory, UINT64_MAX, UINT64_MAX));
}

}  // namespace
}  // namespace minfer::engine
