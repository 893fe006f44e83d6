#include <gtest/gtest.h>

#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it

std::string difference(const Graph& a, const Graph& b) {
  const Status status = compare_graphs(a, b);
  return status.ok() ? "" : status.message();
}

TEST(CompareGraphs, a_graph_built_twice_is_the_same) {
  const ModelOptions options{.n_layers = 3, .bias = true, .q_norm = true, .k_norm = true};
  EXPECT_EQ(difference(build_model(options), build_model(options)), "");
}

TEST(CompareGraphs, structural_check_detects_different_graph) {
  const Graph base = build_model();
  EXPECT_EQ(difference(base, build_model({.k_rope_base = 5000.0F})),
            "the graphs differ at node 6 blk.0.roped (rope): the attributes differ");
  EXPECT_EQ(difference(base, build_model({.bias = true})),
            "the graphs differ at node 3 blk.0.attn_k (mat_mul): mat_mul against add_bias");
  EXPECT_EQ(difference(base, build_model({.weight_type = DType::kF16})),
            "the graphs differ at node 0 embd (embed): the shape, type or name of the inputs "
            "differs");
  EXPECT_NE(difference(base, build_model({.n_tokens = 5})), "");
  EXPECT_NE(difference(base, build_model({.n_layers = 2})), "");
}

TEST(CompareGraphs, every_part_of_a_node_counts) {
  const Graph base = build_model();
  const NodeId last = static_cast<NodeId>(base.nodes().size() - 1);
  const std::string at =
      "the graphs differ at node " + std::to_string(last) + " logits (mat_mul): ";
  Graph other = base;
  other.mutable_node(last).backend = 1;
  EXPECT_EQ(difference(base, other), at + "backend 0 against 1");
  other = base;
  other.mutable_node(last).layer = 0;
  EXPECT_EQ(difference(base, other), at + "layer -1 against 0");
  other = base;
  other.mutable_node(last).op = OpKind::kAddBias;
  EXPECT_EQ(difference(base, other), at + "mat_mul against add_bias");
  other = base;
  other.mutable_node(last).inputs[0] = 0;
  EXPECT_EQ(difference(base, other), at + "the list of the inputs differs");
  other = base;
  other.mutable_value(base.outputs()[0]).shape = {1, 127};
  EXPECT_EQ(difference(base, other), at + "the shape, type or name of the outputs differs");
  other = base;
  other.mutable_value(base.outputs()[0]).rows = RowDomain::kTokens;
  EXPECT_EQ(difference(base, other), at + "the shape, type or name of the outputs differs");
  other = base;
  other.mutable_value(0).group = 1;
  EXPECT_EQ(difference(base, other),
            "the graphs differ at node 0 embd (embed): the shape, type or name of the inputs "
            "differs");
  other = base;
  other.add_output(base.node(0).outputs[0]);
  EXPECT_EQ(difference(base, other), "the graphs differ in their outputs");
  other = base;
  other.add_value(base.value(0));
  EXPECT_EQ(difference(base, other), "the graphs differ in values that no node reads");
}

TEST(CompareGraphs, missing_last_node_is_named) {
  const Graph base = build_model();
  Graph other = base;
  std::vector<Node> nodes(base.nodes().begin(), base.nodes().end() - 1);
  const std::string expected = "the graphs differ at node " + std::to_string(nodes.size()) +
                               " logits (mat_mul): it is in one graph only";
  other.replace_nodes(std::move(nodes));
  EXPECT_EQ(difference(base, other), expected);
  EXPECT_EQ(difference(other, base), expected);
}

}  // namespace
}  // namespace minfer::ir_test
