#include "ir/builder.h"

#include <gtest/gtest.h>

#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it

struct Fixture {
  Builder b;
  ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  ValueId positions = b.input(InputKind::kPositions, {4}, RowDomain::kTokens);
  ValueId sequence = b.input(InputKind::kSequence, {4}, RowDomain::kTokens);
  KvInputs kv{b.input(InputKind::kKvPages, {4, 2}, RowDomain::kTokens),
              b.input(InputKind::kKvBounds, {4, 2}, RowDomain::kTokens)};
  ValueId out_rows = b.input(InputKind::kOutRows, {2}, RowDomain::kOut);
  ValueId x = b.embed(ids, b.weight(0, DType::kF32, {10, 64}, "token_embd"), 1.0F, "embd");

  ValueId matrix(std::int64_t n, std::int64_t k) { return b.weight(1, DType::kQ8_0, {n, k}, "w"); }
  ValueId vector(std::int64_t n) { return b.weight(2, DType::kF32, {n}, "v"); }
  std::string error() {
    const Result<Graph> graph = std::move(b).finish();
    return graph.ok() ? "" : graph.status().message();
  }
};

TEST(Builder, whole_model_has_the_shapes_of_the_paper) {
  const Graph graph = build_model({.n_layers = 2});
  EXPECT_EQ(count_ops(graph, OpKind::kAttention), 2);
  EXPECT_EQ(count_ops(graph, OpKind::kGatherRows), 2);
  ASSERT_EQ(graph.outputs().size(), 1U);
  const Value& logits = graph.value(graph.outputs()[0]);
  EXPECT_EQ(logits.shape, (Shape{1, 128}));
  EXPECT_EQ(logits.rows, RowDomain::kOut);
  EXPECT_EQ(graph.value_name(graph.outputs()[0]), "logits");
  const Node* glu = find_op(graph, OpKind::kGlu);
  EXPECT_EQ(graph.node_name(*glu), "blk.0.ffn_act (glu)");
}

TEST(Builder, error_names_the_node_its_input_and_what_was_wanted) {
  Fixture f;
  f.b.set_layer(3);
  f.b.mat_mul(f.x, f.matrix(32, 32), "ffn_up");
  EXPECT_EQ(f.error(),
            "blk.3.ffn_up (mat_mul): input \"weight\" must be a weight [n, 64], but is Q8_0 [32, "
            "32]");
}

TEST(Builder, first_error_sticks) {
  Fixture f;
  EXPECT_EQ(f.b.add_bias(f.x, f.vector(63), "first"), kNoValue);
  EXPECT_EQ(f.b.scale(f.x, 2.0F, "second"), kNoValue);
  f.b.mat_mul(kNoValue, kNoValue, "third");
  EXPECT_EQ(f.error(), "first (add_bias): input \"bias\" must be a weight [64], but is F32 [63]");
}

TEST(Builder, missing_input_is_named) {
  Fixture f;
  f.b.glu(f.x, kNoValue, Activation::kSilu, "act");
  EXPECT_EQ(f.error(), "act (glu): input \"up\" is missing");
}

TEST(Builder, rows_of_tokens_and_of_outputs_do_not_mix) {
  Fixture f;
  const ValueId out = f.b.input(InputKind::kOutRows, {4}, RowDomain::kOut, 1);
  const ValueId cut = f.b.gather_rows(f.x, out, "cut");
  f.b.add(f.x, cut, "sum");
  EXPECT_EQ(f.error(),
            "sum (add): input \"y\" must be F32 with 4 of tokens rows of 64, but is F32 [4, 64] of "
            "outputs");
}

TEST(Builder, weight_rows_must_be_whole_blocks) {
  Fixture f;
  f.b.weight(7, DType::kQ4_K, {8, 128}, "ffn_up.weight");
  EXPECT_EQ(f.error(), "weight \"ffn_up.weight\": bad index 7 or shape Q4_K [8, 128]");
}

TEST(Builder, norm_of_heads_must_divide_the_row) {
  Fixture f;
  f.b.rms_norm_heads(f.x, f.vector(24), 1e-5F, 24, "q_norm");
  EXPECT_EQ(f.error(), "q_norm (rms_norm): the group must divide the row");
}

TEST(Builder, rope_checks_its_attributes) {
  Fixture f;
  f.b.rope(f.x, f.positions, kNoValue, {4, 16, 18}, "q");
  EXPECT_EQ(f.error(), "q (rope): n_rot must be even, positive and at most head_dim");
}

TEST(Builder, rope_takes_a_factor_a_pair) {
  Fixture f;
  f.b.rope(f.x, f.positions, f.vector(16), {4, 16, 16}, "q");
  EXPECT_EQ(f.error(), "q (rope): input \"freq_factors\" must be a weight [8], but is F32 [16]");
}

TEST(Builder, attention_reads_the_kv_of_its_layer_with_its_size) {
  {
    Fixture f;
    const ValueId token = f.b.kv_store(f.x, f.x, f.positions, f.sequence, f.kv, 0);
    f.b.attention(f.x, token, f.sequence, f.kv, {1, 4, 4, 16, 1.0F}, "attn");
    EXPECT_EQ(f.error(),
              "attn (attention): input \"kv\" must be the KV token of layer 1, but is the KV token "
              "of layer 0");
  }
  Fixture f;
  const ValueId token = f.b.kv_store(f.x, f.x, f.positions, f.sequence, f.kv, 0);
  f.b.attention(f.x, token, f.sequence, f.kv, {0, 4, 2, 16, 1.0F}, "attn");
  EXPECT_EQ(f.error(), "attn (attention): the KV of the layer holds rows of another size");
}

TEST(Builder, experts_read_one_shared_row_or_one_each) {
  Fixture f;
  const ValueId logits = f.b.mat_mul(f.x, f.matrix(8, 64), "router");
  const Builder::Route route = f.b.moe_route(logits, {8, 2, true});
  const ValueId up = f.b.weight(3, DType::kQ8_0, {8, 32, 64}, "up_exps");
  const ValueId down = f.b.weight(4, DType::kQ8_0, {8, 64, 32}, "down_exps");
  const ValueId h = f.b.moe_mat_mul(f.x, route.ids, up, {2, true}, "ffn_up");
  const ValueId y = f.b.moe_mat_mul(h, route.ids, down, {2, false}, "ffn_down");
  f.b.output(f.b.moe_combine(y, route.weights, 2, "ffn_out"));
  const Result<Graph> graph = std::move(f.b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->value(h).shape, (Shape{4, 64}));
  EXPECT_EQ(graph->value(y).shape, (Shape{4, 128}));
  EXPECT_EQ(graph->value(graph->outputs()[0]).shape, (Shape{4, 64}));

  Fixture wrong;
  const ValueId wrong_logits = wrong.b.mat_mul(wrong.x, wrong.matrix(8, 64), "router");
  const Builder::Route wrong_route = wrong.b.moe_route(wrong_logits, {8, 2, true});
  const ValueId wrong_up = wrong.b.weight(3, DType::kQ8_0, {8, 32, 64}, "up_exps");
  wrong.b.moe_mat_mul(wrong.x, wrong_route.ids, wrong_up, {2, false}, "ffn_up");
  EXPECT_EQ(wrong.error(),
            "ffn_up (moe_mat_mul): the row of x must hold one row of the weight, or one a chosen "
            "expert");
}

TEST(Builder, scan_takes_a_sequence_a_row) {
  Fixture f;
  const ValueId h = f.b.scan(f.x, f.sequence, {0, 0.5F}, "state");
  f.b.output(h);
  EXPECT_EQ(f.error(), "");
  Fixture wrong;
  wrong.b.scan(wrong.x, wrong.out_rows, {0, 0.5F}, "state");
  EXPECT_EQ(wrong.error(),
            "state (scan): input \"sequence\" must be I32 with 4 of tokens rows, but is I32 [2] of "
            "outputs");
}

}  // namespace
}  // namespace minfer::ir_test
