// Pass manager, assignment, dead nodes and the quantisation of activations.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "passes/pass.h"
#include "tests/ir/fake_backend.h"
#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it
using passes::PassContext;

class Passes : public ::testing::Test {
 protected:
  PassContext context() {
    PassContext c;
    c.backends = std::span(backends_).first(n_backends);
    c.verify = true;
    return c;
  }
  void run(Graph& graph, const PassContext& c) {
    const Status status = passes::run_passes(graph, c);
    EXPECT_TRUE(status.ok()) << status.message();
    const Status sound = verify(graph);
    EXPECT_TRUE(sound.ok()) << sound.message();
  }

  FakeBackend first, second;
  std::size_t n_backends = 1;

 private:
  std::array<backend::Backend*, 2> backends_{&first, &second};
};

TEST_F(Passes, the_first_backend_that_can_run_a_node_gets_it) {
  n_backends = 2;
  first.refused = {OpKind::kAttention};
  Graph graph = build_model();
  ASSERT_TRUE(passes::assign_backends(graph, context()).ok());
  for (const Node& node : graph.nodes()) {
    EXPECT_EQ(node.backend, node.op == OpKind::kAttention ? 1 : 0);
  }
}

TEST_F(Passes, a_node_that_no_backend_runs_is_named) {
  n_backends = 2;
  first.refused = second.refused = {OpKind::kGlu};
  Graph graph = build_model();
  const Status status = passes::assign_backends(graph, context());
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(), "no backend can run blk.0.ffn_act (glu)");
}

TEST_F(Passes, offload_plan_keeps_the_first_layers_off_the_first_backend) {
  n_backends = 2;
  Graph graph = build_model({.n_layers = 4});
  PassContext c = context();
  c.n_layers = 4;
  c.gpu_layers = 1;
  ASSERT_TRUE(passes::assign_backends(graph, c).ok());
  for (const Node& node : graph.nodes()) {
    EXPECT_EQ(node.backend, node.layer >= 0 && node.layer < 3 ? 1 : 0) << graph.node_name(node);
  }
  c.gpu_layers = 0;
  ASSERT_TRUE(passes::assign_backends(graph, c).ok());
  for (const Node& node : graph.nodes()) EXPECT_EQ(node.backend, 1);
  n_backends = 1;
  c.backends = context().backends;
  ASSERT_TRUE(passes::assign_backends(graph, c).ok());
  for (const Node& node : graph.nodes()) EXPECT_EQ(node.backend, 0);
}

TEST_F(Passes, dead_nodes_go_with_what_only_they_read) {
  Graph graph = build_model({}, [](Builder& b, const LayerValues& at) {
    b.scale(b.activation(at.gate, Activation::kRelu, "dead_a"), 2.0F, "dead_b");
  });
  const std::size_t before = graph.nodes().size();
  ASSERT_TRUE(passes::remove_dead_nodes(graph, context()).ok());
  EXPECT_EQ(graph.nodes().size(), before - 2);
  EXPECT_EQ(count_ops(graph, OpKind::kScale), 0);
  EXPECT_EQ(count_ops(graph, OpKind::kActivation), 0);
  EXPECT_TRUE(verify(graph).ok());
}

TEST_F(Passes, kv_is_written_even_where_nothing_reads_it) {
  // A chunk that is not the last: no outputs, only the KV counts.
  Graph graph;
  {
    const Graph full = build_model();
    graph = full;
    Graph no_output;
    for (const Value& value : full.values()) no_output.add_value(value);
    for (const Node& node : full.nodes()) no_output.add_node(node);
    graph = no_output;
  }
  ASSERT_TRUE(passes::remove_dead_nodes(graph, context()).ok());
  EXPECT_EQ(count_ops(graph, OpKind::kKvStore), 1);
  EXPECT_EQ(count_ops(graph, OpKind::kRope), 1);
  EXPECT_EQ(count_ops(graph, OpKind::kAttention), 0);
  EXPECT_TRUE(verify(graph).ok());
}

TEST_F(Passes, state_and_fused_kv_writers_live_too) {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId sequence = b.input(InputKind::kSequence, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kQ8_0, {10, 64}, "token_embd"), 1.0F, "embd");
  b.scan(x, sequence, {0, 0.5F}, "state");
  Result<Graph> graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(passes::remove_dead_nodes(*graph, context()).ok());
  EXPECT_EQ(graph->nodes().size(), 2U);
  EXPECT_TRUE(has_side_effect(OpKind::kFusedQkv));
  EXPECT_FALSE(has_side_effect(OpKind::kAttention));
}

TEST_F(Passes, products_of_one_input_share_one_quantisation) {
  Graph graph = build_model();
  ASSERT_TRUE(passes::quantize_activations(graph, context()).ok());
  EXPECT_TRUE(verify(graph).ok());
  // attn_norm (q, k, v), attn, ffn_norm (gate, up), ffn_act, output_norm.
  EXPECT_EQ(count_ops(graph, OpKind::kQuantizeRows), 5);
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kMatMul) continue;
    const Value& x = graph.value(node.inputs[0]);
    EXPECT_EQ(x.dtype, DType::kQ8A);
    EXPECT_EQ(graph.node(x.producer).op, OpKind::kQuantizeRows);
  }
  Graph again = graph;
  ASSERT_TRUE(passes::quantize_activations(again, context()).ok());
  EXPECT_TRUE(compare_graphs(graph, again).ok());
}

TEST_F(Passes, only_weights_that_want_quantised_rows_get_them) {
  Graph graph = build_model({.weight_type = DType::kF16});
  ASSERT_TRUE(passes::quantize_activations(graph, context()).ok());
  EXPECT_EQ(count_ops(graph, OpKind::kQuantizeRows), 0);
  first.quantizes = false;
  graph = build_model();
  ASSERT_TRUE(passes::quantize_activations(graph, context()).ok());
  EXPECT_EQ(count_ops(graph, OpKind::kQuantizeRows), 0);
}

TEST_F(Passes, each_backend_quantises_for_itself) {
  n_backends = 2;
  Graph graph = build_model();
  NodeId up = kNoNode;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.node_name(static_cast<NodeId>(i)) == "blk.0.ffn_up (mat_mul)") {
      up = static_cast<NodeId>(i);
    }
  }
  ASSERT_NE(up, kNoNode);
  graph.mutable_node(up).backend = 1;
  ASSERT_TRUE(passes::quantize_activations(graph, context()).ok());
  EXPECT_EQ(count_ops(graph, OpKind::kQuantizeRows), 6);
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kMatMul) continue;
    EXPECT_EQ(graph.node(graph.value(node.inputs[0]).producer).backend, node.backend);
  }
}

TEST_F(Passes, experts_get_quantised_rows_and_the_router_its_floats) {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kQ8_0, {10, 64}, "token_embd"), 1.0F, "embd");
  const ValueId logits = b.mat_mul(x, b.weight(1, DType::kF32, {8, 64}, "router"), "logits");
  const Builder::Route route = b.moe_route(logits, {8, 2, true});
  const ValueId gate =
      b.moe_mat_mul(x, route.ids, b.weight(2, DType::kQ8_0, {8, 32, 64}, "g"), {2, true}, "gate");
  const ValueId up =
      b.moe_mat_mul(x, route.ids, b.weight(3, DType::kQ8_0, {8, 32, 64}, "u"), {2, true}, "up");
  const ValueId act = b.glu(gate, up, Activation::kSilu, "act");
  const ValueId down = b.moe_mat_mul(act, route.ids, b.weight(4, DType::kQ8_0, {8, 64, 32}, "d"),
                                     {2, false}, "down");
  b.output(b.moe_combine(down, route.weights, 2, "out"));
  Result<Graph> graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  run(*graph, context());
  EXPECT_EQ(count_ops(*graph, OpKind::kQuantizeRows), 2);
  EXPECT_EQ(count_ops(*graph, OpKind::kFusedGateUp), 0);
  EXPECT_EQ(graph->value(find_op(*graph, OpKind::kMatMul)->inputs[0]).dtype, DType::kF32);
  EXPECT_EQ(graph->value(find_op(*graph, OpKind::kMoeMatMul)->inputs[0]).dtype, DType::kQ8A);
}

TEST_F(Passes, whole_layer_is_eight_nodes) {
  Graph graph = build_model({.n_layers = 3, .n_out = 4, .bias = true, .q_norm = true});
  passes::PassTimes times;
  ASSERT_TRUE(passes::run_passes(graph, context(), &times).ok());
  int in_layer = 0;
  for (const Node& node : graph.nodes()) in_layer += node.layer == 1 ? 1 : 0;
  // norm, qkv, attention, quantise, product; norm, gate and up, product.
  EXPECT_EQ(in_layer, 8) << to_text(graph);
  EXPECT_GT(times.seconds[1], 0.0);
}

TEST_F(Passes, passes_can_be_left_out_by_name) {
  Graph graph = build_model();
  PassContext c = context();
  c.disabled_passes = passes::pass_bit("fuse_norm") | passes::pass_bit("fuse_qkv");
  run(graph, c);
  EXPECT_EQ(count_ops(graph, OpKind::kFusedNorm), 0);
  EXPECT_EQ(count_ops(graph, OpKind::kFusedQkv), 0);
  EXPECT_EQ(count_ops(graph, OpKind::kFusedGateUp), 1);
  EXPECT_EQ(passes::pass_bit("no_such_pass"), 0U);
  EXPECT_EQ(passes::all_passes().front().name, "remove_dead_nodes");
}

TEST_F(Passes, a_broken_graph_is_reported_with_the_pass) {
  Graph graph = build_model();
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].op == OpKind::kAdd) {
      graph.mutable_value(graph.nodes()[i].outputs[0]).shape = {1, 3};
    }
  }
  const Status status = passes::run_passes(graph, context());
  EXPECT_TRUE(status.message().starts_with("pass remove_dead_nodes: graph: node"))
      << status.message();
}

TEST_F(Passes, passes_are_deterministic) {
  const ModelOptions options{.n_layers = 3, .bias = true, .freq_factors = true};
  Graph a = build_model(options);
  Graph b = build_model(options);
  run(a, context());
  run(b, context());
  const Status same = compare_graphs(a, b);
  EXPECT_TRUE(same.ok()) << same.message();
}

}  // namespace
}  // namespace minfer::ir_test
