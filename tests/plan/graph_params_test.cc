#include "plan/graph_params.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace minfer::plan {
namespace {

TEST(GraphParams, token_capacity_is_exact_to_16_and_then_a_power_of_two) {
  for (std::int32_t n = 1; n <= 16; ++n) EXPECT_EQ(token_capacity(n, 512), n);
  EXPECT_EQ(token_capacity(17, 512), 32);
  EXPECT_EQ(token_capacity(32, 512), 32);
  EXPECT_EQ(token_capacity(33, 512), 64);
  EXPECT_EQ(token_capacity(512, 512), 512);
  EXPECT_EQ(token_capacity(18, 20), 20);
  EXPECT_EQ(token_capacity(65, 100), 100);
  EXPECT_EQ(token_capacity(40, 48), 48);
  for (std::int32_t max = 1; max <= 300; ++max) {
    for (std::int32_t n = 1; n <= max; ++n) {
      const std::int32_t capacity = token_capacity(n, max);
      ASSERT_GE(capacity, n);
      ASSERT_LE(capacity, max);
    }
  }
}

TEST(GraphParams, out_capacity_is_none_one_all_or_a_token_capacity) {
  EXPECT_EQ(out_capacity(0, 40, 64), 0);
  EXPECT_EQ(out_capacity(1, 40, 64), 1);
  EXPECT_EQ(out_capacity(3, 40, 64), 3);
  EXPECT_EQ(out_capacity(17, 40, 64), 32);
  EXPECT_EQ(out_capacity(40, 40, 64), 64);
  EXPECT_EQ(out_capacity(39, 40, 64), 64);
  EXPECT_EQ(out_capacity(1, 1, 1), 1);
}

TEST(GraphParams, every_field_is_identity_and_is_described) {
  const GraphParams base{.n_tokens = 4, .n_out = 1, .n_ctx = 64};
  using Change = std::pair<std::function<void(GraphParams&)>, std::string>;
  const std::vector<Change> changes = {
      {[](GraphParams& p) { p.n_tokens = 5; }, "n_tokens 4 -> 5"},
      {[](GraphParams& p) { p.n_out = 0; }, "n_out 1 -> 0"},
      {[](GraphParams& p) { p.output = OutputKind::kHidden; }, "output logits -> hidden"},
      {[](GraphParams& p) { p.n_ctx = 65; }, "n_ctx 64 -> 65"},
      {[](GraphParams& p) { p.kv_format = backend::KvFormat::kF32; }, "kv_format f16 -> f32"},
      {[](GraphParams& p) { p.rope_base = 2; }, "rope_base 0 -> 2"},
      {[](GraphParams& p) { p.rope_scale = 0.5; }, "rope_scale 0 -> 0.5"},
      {[](GraphParams& p) { p.backend_set = 3; }, "backend_set 1 -> 3"},
      {[](GraphParams& p) { p.gpu_layers = 7; }, "gpu_layers 0 -> 7"},
      {[](GraphParams& p) { p.fuse_qkv = false; }, "fuse_qkv true -> false"},
      {[](GraphParams& p) { p.fuse_ffn = false; }, "fuse_ffn true -> false"},
      {[](GraphParams& p) { p.weights_version = 9; }, "weights_version 0 -> 9"}};
  EXPECT_EQ(describe_difference(base, base), "");
  for (const auto& [change, text] : changes) {
    GraphParams other = base;
    change(other);
    EXPECT_FALSE(base == other) << text;
    EXPECT_EQ(describe_difference(base, other), text);
  }
  GraphParams two = base;
  two.n_tokens = 1;
  two.n_out = 0;
  EXPECT_EQ(describe_difference(base, two), "n_tokens 4 -> 1, n_out 1 -> 0");
}

}  // namespace
}  // namespace minfer::plan
