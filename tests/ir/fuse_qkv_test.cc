// fuse_qkv: the pattern in all its forms, and everything that must keep it apart.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "passes/pass.h"
#include "tests/ir/fake_backend.h"
#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it

class FuseQkv : public ::testing::Test {
 protected:
  Graph run(Graph graph) {
    context.backends = backends_;
    context.verify = true;
    const Status status = passes::run_passes(graph, context);
    EXPECT_TRUE(status.ok()) << status.message();
    return graph;
  }
  void expect_apart(const Graph& graph) {
    EXPECT_EQ(count_ops(graph, OpKind::kFusedQkv), 0) << to_text(graph);
    EXPECT_EQ(count_ops(graph, OpKind::kKvStore), 1);
  }

  FakeBackend first, second;
  passes::PassContext context;

 private:
  std::array<backend::Backend*, 2> backends_{&first, &second};
};

const FusedQkvAttrs& attrs_of(const Graph& graph) {
  return std::get<FusedQkvAttrs>(find_op(graph, OpKind::kFusedQkv)->attrs);
}

std::vector<std::string_view> weight_labels(const Graph& graph) {
  std::vector<std::string_view> labels;
  for (ValueId id : find_op(graph, OpKind::kFusedQkv)->inputs) {
    labels.push_back(graph.value(id).label);
  }
  return labels;
}

TEST_F(FuseQkv, plain_block_joins) {
  const Graph graph = run(build_model());
  ASSERT_EQ(count_ops(graph, OpKind::kFusedQkv), 1) << to_text(graph);
  const FusedQkvAttrs& a = attrs_of(graph);
  EXPECT_EQ(a.rope.n_head, 4);
  EXPECT_EQ(a.n_head_kv, 2);
  EXPECT_FALSE(a.q_bias || a.k_bias || a.v_bias || a.q_norm || a.k_norm || a.freq_factors);
  const std::vector<std::string_view> expected = {"attn_norm",     "attn_q.weight", "attn_k.weight",
                                                  "attn_v.weight", "positions",     "sequence",
                                                  "kv_pages"};
  EXPECT_EQ(weight_labels(graph), expected);
  const Node& fused = *find_op(graph, OpKind::kFusedQkv);
  EXPECT_EQ(graph.value(fused.inputs[0]).dtype, DType::kQ8A);
  EXPECT_EQ(graph.value_name(fused.outputs[0]), "blk.0.roped");
  const Node& attention = *find_op(graph, OpKind::kAttention);
  EXPECT_EQ(attention.inputs[0], fused.outputs[0]);
  EXPECT_EQ(attention.inputs[1], fused.outputs[1]);
  EXPECT_EQ(count_ops(graph, OpKind::kRope), 0);
  EXPECT_EQ(count_ops(graph, OpKind::kKvStore), 0);
}

TEST_F(FuseQkv, all_options_at_once_keep_the_order_of_inputs) {
  const Graph graph =
      run(build_model({.bias = true, .q_norm = true, .k_norm = true, .freq_factors = true}));
  ASSERT_EQ(count_ops(graph, OpKind::kFusedQkv), 1);
  const FusedQkvAttrs& a = attrs_of(graph);
  EXPECT_TRUE(a.q_bias && a.k_bias && a.v_bias && a.q_norm && a.k_norm && a.freq_factors);
  EXPECT_EQ(a.norm_eps, 1e-5F);
  const std::vector<std::string_view> expected = {"attn_norm",
                                                  "attn_q.weight",
                                                  "attn_k.weight",
                                                  "attn_v.weight",
                                                  "bias",
                                                  "bias",
                                                  "bias",
                                                  "head_norm",
                                                  "head_norm",
                                                  "positions",
                                                  "rope_freqs.weight",
                                                  "sequence",
                                                  "kv_pages"};
  EXPECT_EQ(weight_labels(graph), expected);
}

TEST_F(FuseQkv, float_rows_join_too) {
  const Graph graph = run(build_model({.weight_type = DType::kF16}));
  ASSERT_EQ(count_ops(graph, OpKind::kFusedQkv), 1);
  EXPECT_EQ(graph.value(find_op(graph, OpKind::kFusedQkv)->inputs[0]).dtype, DType::kF32);
}

TEST_F(FuseQkv, one_norm_alone_joins) {
  const Graph graph = run(build_model({.k_norm = true, .k_norm_eps = 1e-3F}));
  ASSERT_EQ(count_ops(graph, OpKind::kFusedQkv), 1);
  EXPECT_FALSE(attrs_of(graph).q_norm);
  EXPECT_TRUE(attrs_of(graph).k_norm);
  EXPECT_EQ(attrs_of(graph).norm_eps, 1e-3F);
}

TEST_F(FuseQkv, norms_of_two_epsilons_stay_apart) {
  expect_apart(run(build_model({.q_norm = true, .k_norm = true, .k_norm_eps = 1e-3F})));
}

TEST_F(FuseQkv, ropes_of_two_bases_stay_apart) {
  expect_apart(run(build_model({.k_rope_base = 5000.0F})));
}

TEST_F(FuseQkv, an_intermediate_that_is_read_elsewhere_keeps_it_apart) {
  const ValueId LayerValues::* const members[] = {&LayerValues::q, &LayerValues::k, &LayerValues::v,
                                                  &LayerValues::k_rope};
  for (const auto member : members) {
    expect_apart(run(build_model({}, [member](Builder& b, const LayerValues& at) {
      b.output(b.scale(at.*member, 2.0F, "reader"));
    })));
    expect_apart(run(
        build_model({}, [member](Builder& b, const LayerValues& at) { b.output(at.*member); })));
  }
}

TEST_F(FuseQkv, biased_and_normed_intermediates_count_too) {
  const ValueId LayerValues::* const members[] = {&LayerValues::q, &LayerValues::k,
                                                  &LayerValues::v};
  for (const auto member : members) {
    for (const bool bias : {true, false}) {
      ModelOptions options{.bias = bias, .q_norm = true, .k_norm = true};
      expect_apart(run(build_model(options, [member](Builder& b, const LayerValues& at) {
        b.output(b.scale(at.*member, 2.0F, "reader"));
      })));
    }
  }
}

TEST_F(FuseQkv, q_may_have_readers_after_the_store) {
  const Graph graph = run(build_model(
      {}, [](Builder& b, const LayerValues& at) { b.output(b.scale(at.q_rope, 2.0F, "reader")); }));
  EXPECT_EQ(count_ops(graph, OpKind::kFusedQkv), 1);
}

TEST_F(FuseQkv, q_with_a_reader_before_the_store_stays_apart) {
  Graph graph = build_model(
      {}, [](Builder& b, const LayerValues& at) { b.output(b.scale(at.q_rope, 2.0F, "reader")); });
  // Moves the reader to just behind Q's RoPE, before the store.
  std::vector<Node> nodes;
  for (const Node& node : graph.nodes()) {
    if (node.op == OpKind::kScale) continue;
    nodes.push_back(node);
    if (node.op == OpKind::kRope && count_ops(graph, OpKind::kScale) == 1 &&
        std::get<RopeAttrs>(node.attrs).n_head == 4) {
      nodes.push_back(*find_op(graph, OpKind::kScale));
    }
  }
  graph.replace_nodes(std::move(nodes));
  ASSERT_TRUE(verify(graph).ok());
  expect_apart(run(graph));
}

/// The node that makes `name` in a graph that a test spoils.
Node& node_of(Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& node = graph.mutable_node(static_cast<NodeId>(i));
    if (graph.value_name(node.outputs[0]) == name) return node;
  }
  MINFER_CHECK(false);
  return graph.mutable_node(0);
}

TEST_F(FuseQkv, other_positions_keep_it_apart) {
  // The sequence input has the shape of positions. Of the RoPEs, the first is Q's.
  Graph in_store = build_model();
  node_of(in_store, "blk.0.kv").inputs[2] = node_of(in_store, "blk.0.kv").inputs[3];
  Graph in_q = build_model();
  node_of(in_q, "blk.0.roped").inputs[1] = node_of(in_q, "blk.0.kv").inputs[3];
  Graph in_both = in_q;
  node_of(in_both, "blk.0.kv").inputs[2] = node_of(in_both, "blk.0.kv").inputs[3];
  for (const Graph& graph : {in_store, in_q, in_both}) {
    ASSERT_TRUE(verify(graph).ok());
    expect_apart(run(graph));
  }
}

TEST_F(FuseQkv, frequency_factors_of_one_alone_keep_it_apart) {
  Graph graph = build_model({.freq_factors = true});
  Node& rope = node_of(graph, "blk.0.roped");
  rope.inputs = {rope.inputs[0], rope.inputs[1]};
  ASSERT_TRUE(verify(graph).ok());
  expect_apart(run(graph));
}

TEST_F(FuseQkv, a_projection_of_another_input_keeps_it_apart) {
  for (const std::string_view name : {"blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v"}) {
    Graph graph = build_model();
    node_of(graph, name).inputs[0] = node_of(graph, "embd").outputs[0];
    ASSERT_TRUE(verify(graph).ok());
    expect_apart(run(graph));
  }
}

TEST_F(FuseQkv, a_norm_over_two_heads_keeps_it_apart) {
  Graph graph = build_model({.q_norm = true});
  Node& norm = node_of(graph, "blk.0.normed");
  norm.attrs = NormAttrs{1e-5F, 32};
  graph.mutable_value(norm.inputs[1]).shape = {32};
  ASSERT_TRUE(verify(graph).ok());
  expect_apart(run(graph));
}

TEST_F(FuseQkv, a_norm_that_is_read_elsewhere_keeps_it_apart) {
  Graph graph = build_model({.q_norm = true});
  graph.add_output(node_of(graph, "blk.0.normed").outputs[0]);
  expect_apart(run(graph));
}

TEST_F(FuseQkv, a_bias_sum_that_is_read_elsewhere_keeps_it_apart) {
  Graph graph = build_model({.bias = true, .q_norm = true});
  graph.add_output(node_of(graph, "blk.0.attn_q_biased").outputs[0]);
  expect_apart(run(graph));
}

TEST_F(FuseQkv, one_q_for_two_stores_joins_once) {
  Builder b;
  const auto tokens = RowDomain::kTokens;
  const ValueId ids = b.input(InputKind::kIds, {4}, tokens);
  const ValueId positions = b.input(InputKind::kPositions, {4}, tokens);
  const ValueId sequence = b.input(InputKind::kSequence, {4}, tokens);
  const KvInputs kv{b.input(InputKind::kKvPages, {4, 2}, tokens),
                    b.input(InputKind::kKvBounds, {4, 2}, tokens)};
  const ValueId w = b.weight(0, DType::kF16, {32, 32}, "w");
  const ValueId x = b.embed(ids, w, 1.0F, "x");
  const RopeAttrs rope{2, 16, 16, RopeMode::kNormal, 10000.0F, 1.0F};
  const auto rotated = [&] { return b.rope(b.mat_mul(x, w, "p"), positions, kNoValue, rope, "r"); };
  const ValueId q = rotated();
  std::array<ValueId, 2> stored{};
  for (const std::int32_t layer : {0, 1}) {
    const ValueId k = rotated();
    stored[static_cast<std::size_t>(layer)] =
        b.kv_store(k, b.mat_mul(x, w, "v"), positions, sequence, kv, layer);
  }
  b.output(b.attention(q, stored[0], sequence, kv, {0, 2, 2, 16, 1.0F}, "first"));
  b.output(b.attention(q, stored[1], sequence, kv, {1, 2, 2, 16, 1.0F}, "second"));
  const Graph fused = run(std::move(b).finish().value());
  EXPECT_EQ(count_ops(fused, OpKind::kFusedQkv), 1);
  EXPECT_EQ(count_ops(fused, OpKind::kKvStore), 1);
}

TEST_F(FuseQkv, every_member_must_be_on_the_stores_backend) {
  const Graph base = build_model({.bias = true, .q_norm = true, .k_norm = true});
  int moved = 0;
  for (std::size_t i = 0; i < base.nodes().size(); ++i) {
    Graph graph = base;
    Node& node = graph.mutable_node(static_cast<NodeId>(i));
    if (node.op == OpKind::kAttention) break;
    const bool member =
        node.op == OpKind::kMatMul || node.op == OpKind::kAddBias || node.op == OpKind::kRope ||
        (node.op == OpKind::kRmsNorm && graph.value_name(node.outputs[0]) != "blk.0.attn_norm");
    if (!member) continue;
    node.backend = 1;
    ++moved;
    expect_apart(run(graph));
  }
  EXPECT_EQ(moved, 10);
}

TEST_F(FuseQkv, obeys_flag_and_backend) {
  context.fuse_qkv = false;
  expect_apart(run(build_model()));
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedGateUp), 1);
  context.fuse_qkv = true;
  first.unfused = {OpKind::kFusedQkv};
  expect_apart(run(build_model()));
  first.unfused.clear();
  first.refused = {OpKind::kFusedQkv};
  expect_apart(run(build_model()));
}

}  // namespace
}  // namespace minfer::ir_test
