// fuse_gate_up and fuse_norm: where they join, and everything that must keep them from it.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "passes/pass.h"
#include "tests/ir/fake_backend.h"
#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it
using passes::PassContext;

class FusionTest : public ::testing::Test {
 protected:
  Graph run(Graph graph) {
    context.backends = backends_;
    context.verify = true;
    const Status status = passes::run_passes(graph, context);
    EXPECT_TRUE(status.ok()) << status.message();
    return graph;
  }
  /// Moves the node that makes `name` to the second backend.
  static void move_to_second(Graph& graph, std::string_view name) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (graph.value_name(graph.node(id).outputs[0]) == name) graph.mutable_node(id).backend = 1;
    }
  }

  FakeBackend first, second;
  PassContext context;

 private:
  std::array<backend::Backend*, 2> backends_{&first, &second};
};

const FusedGateUpAttrs& gate_up_attrs(const Graph& graph) {
  return std::get<FusedGateUpAttrs>(find_op(graph, OpKind::kFusedGateUp)->attrs);
}

TEST_F(FusionTest, gate_and_up_join_and_quantise) {
  const Graph graph = run(build_model());
  ASSERT_EQ(count_ops(graph, OpKind::kFusedGateUp), 1);
  const Node& fused = *find_op(graph, OpKind::kFusedGateUp);
  EXPECT_EQ(gate_up_attrs(graph), (FusedGateUpAttrs{Activation::kSilu, false, false, true}));
  EXPECT_EQ(fused.inputs.size(), 3);
  EXPECT_EQ(graph.value(fused.inputs[1]).label, "ffn_gate.weight");
  EXPECT_EQ(graph.value(fused.inputs[2]).label, "ffn_up.weight");
  EXPECT_EQ(graph.value(fused.outputs[0]).dtype, DType::kQ8A);
  EXPECT_EQ(graph.value_name(fused.outputs[0]), "blk.0.ffn_act");
  EXPECT_EQ(count_ops(graph, OpKind::kGlu), 0);
}

TEST_F(FusionTest, gate_and_up_take_their_biases) {
  const Graph graph = run(build_model({.bias = true}));
  EXPECT_EQ(gate_up_attrs(graph), (FusedGateUpAttrs{Activation::kSilu, true, true, true}));
  EXPECT_EQ(find_op(graph, OpKind::kFusedGateUp)->inputs.size(), 5);
}

TEST_F(FusionTest, gate_and_up_stay_float_for_float_weights) {
  const Graph graph = run(build_model({.weight_type = DType::kF16}));
  EXPECT_EQ(gate_up_attrs(graph), (FusedGateUpAttrs{Activation::kSilu, false, false, false}));
}

TEST_F(FusionTest, gate_and_up_stay_float_if_the_floats_are_read_too) {
  const Graph graph = run(build_model(
      {}, [](Builder& b, const LayerValues& at) { b.output(b.scale(at.act, 2.0F, "reader")); }));
  EXPECT_EQ(gate_up_attrs(graph), (FusedGateUpAttrs{Activation::kSilu, false, false, false}));
}

TEST_F(FusionTest, gate_and_up_stay_float_if_the_floats_are_an_output) {
  const Graph graph =
      run(build_model({}, [](Builder& b, const LayerValues& at) { b.output(at.act); }));
  EXPECT_FALSE(gate_up_attrs(graph).quantize);
}

TEST_F(FusionTest, gate_and_up_stay_apart_if_one_is_read_elsewhere) {
  for (const bool gate : {true, false}) {
    const Graph graph = run(build_model({}, [gate](Builder& b, const LayerValues& at) {
      b.output(b.scale(gate ? at.gate : at.up, 2.0F, "reader"));
    }));
    EXPECT_EQ(count_ops(graph, OpKind::kFusedGateUp), 0);
  }
}

TEST_F(FusionTest, gate_and_up_stay_apart_if_one_is_an_output) {
  const Graph graph =
      run(build_model({}, [](Builder& b, const LayerValues& at) { b.output(at.up); }));
  EXPECT_EQ(count_ops(graph, OpKind::kFusedGateUp), 0);
}

TEST_F(FusionTest, gate_and_up_stay_apart_on_two_backends) {
  Graph split = build_model();
  move_to_second(split, "blk.0.ffn_up");
  EXPECT_EQ(count_ops(run(split), OpKind::kFusedGateUp), 0);
}

TEST_F(FusionTest, gate_and_up_of_other_inputs_stay_apart) {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kF32, {10, 64}, "e"), 1.0F, "x");
  const ValueId y = b.scale(x, 2.0F, "y");
  const ValueId gate = b.mat_mul(x, b.weight(1, DType::kF32, {32, 64}, "g"), "gate");
  const ValueId up = b.mat_mul(y, b.weight(2, DType::kF32, {32, 64}, "u"), "up");
  b.output(b.glu(gate, up, Activation::kSilu, "act"));
  EXPECT_EQ(count_ops(run(std::move(b).finish().value()), OpKind::kGlu), 1);
}

TEST_F(FusionTest, gate_and_up_obey_flag_and_backend) {
  context.fuse_ffn = false;
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedGateUp), 0);
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedQkv), 1);
  context.fuse_ffn = true;
  first.unfused = {OpKind::kFusedGateUp};
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedGateUp), 0);
  first.unfused.clear();
  first.refused = {OpKind::kFusedGateUp};
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedGateUp), 0);
}

TEST_F(FusionTest, norms_join_what_stands_around_them) {
  const Graph graph = run(build_model());
  std::vector<FusedNormAttrs> norms;
  for (const Node& node : graph.nodes()) {
    if (node.op == OpKind::kFusedNorm) norms.push_back(std::get<FusedNormAttrs>(node.attrs));
  }
  // attn_norm follows the embedding; ffn_norm and output_norm follow a residual add.
  const std::vector<FusedNormAttrs> expected = {
      {1e-5F, false, true}, {1e-5F, true, true}, {1e-5F, true, true}};
  EXPECT_EQ(norms, expected);
  EXPECT_EQ(count_ops(graph, OpKind::kRmsNorm), 0);
  EXPECT_EQ(count_ops(graph, OpKind::kAdd), 0);
}

TEST_F(FusionTest, the_sum_goes_on_from_the_fused_norm) {
  const Graph graph = run(build_model());
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kFusedNorm || node.inputs.size() < 3) continue;
    ASSERT_EQ(node.outputs.size(), 2);
    EXPECT_EQ(graph.value_name(node.outputs[0]),
              node.layer == 0 ? "blk.0.attn_residual" : "blk.0.ffn_residual");
    EXPECT_EQ(graph.value(node.outputs[0]).dtype, DType::kF32);
    EXPECT_EQ(graph.value(node.outputs[1]).dtype, DType::kQ8A);
  }
}

TEST_F(FusionTest, the_sum_is_there_for_readers_before_the_norm) {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kF32, {10, 64}, "e"), 1.0F, "x");
  const ValueId sum = b.add(x, x, "sum");
  const ValueId early = b.scale(sum, 3.0F, "early");
  const ValueId norm = b.rms_norm(sum, b.weight(1, DType::kF32, {64}, "w"), 1e-5F, "norm");
  b.output(b.add(early, norm, "out"));
  const Graph graph = run(std::move(b).finish().value());
  ASSERT_EQ(count_ops(graph, OpKind::kFusedNorm), 1) << to_text(graph);
  EXPECT_EQ(std::get<FusedNormAttrs>(find_op(graph, OpKind::kFusedNorm)->attrs),
            (FusedNormAttrs{1e-5F, true, false}));
}

TEST_F(FusionTest, two_norms_of_one_sum_share_no_add) {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kF32, {10, 64}, "e"), 1.0F, "x");
  const ValueId sum = b.add(x, x, "sum");
  const ValueId w = b.weight(1, DType::kF32, {64}, "w");
  b.output(b.add(b.rms_norm(sum, w, 1e-5F, "a"), b.rms_norm(sum, w, 1e-6F, "b"), "out"));
  const Graph graph = run(std::move(b).finish().value());
  EXPECT_EQ(count_ops(graph, OpKind::kFusedNorm), 1);
  EXPECT_EQ(count_ops(graph, OpKind::kRmsNorm), 1);
}

TEST_F(FusionTest, a_norm_by_itself_stays) {
  const Graph graph = run(build_model({.n_out = 4, .weight_type = DType::kF16}));
  // attn_norm has neither an add before it nor a quantisation after it.
  EXPECT_EQ(count_ops(graph, OpKind::kRmsNorm), 1);
  EXPECT_EQ(count_ops(graph, OpKind::kFusedNorm), 2);
}

TEST_F(FusionTest, a_norm_of_heads_is_not_joined) {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kF32, {10, 64}, "e"), 1.0F, "x");
  const ValueId norm =
      b.rms_norm_heads(b.add(x, x, "sum"), b.weight(1, DType::kF32, {16}, "w"), 1e-5F, 16, "n");
  b.output(norm);
  EXPECT_EQ(count_ops(run(std::move(b).finish().value()), OpKind::kRmsNorm), 1);
}

TEST_F(FusionTest, a_norm_read_as_floats_too_is_not_quantised) {
  const Graph graph = run(build_model({}, [](Builder& b, const LayerValues& at) {
    b.output(b.scale(at.ffn_norm, 2.0F, "reader"));
  }));
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kFusedNorm || node.layer != 0 || node.inputs.size() < 3) continue;
    EXPECT_FALSE(std::get<FusedNormAttrs>(node.attrs).quantize);
  }
  EXPECT_EQ(count_ops(graph, OpKind::kFusedNorm), 3);
}

TEST_F(FusionTest, norms_obey_backend_and_its_borders) {
  Graph split = build_model();
  move_to_second(split, "blk.0.attn_residual");
  const Graph graph = run(split);
  EXPECT_EQ(count_ops(graph, OpKind::kAdd), 1);
  first.unfused = {OpKind::kFusedNorm};
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedNorm), 0);
  first.unfused.clear();
  first.refused = {OpKind::kFusedNorm};
  EXPECT_EQ(count_ops(run(build_model()), OpKind::kFusedNorm), 0);
}

}  // namespace
}  // namespace minfer::ir_test
