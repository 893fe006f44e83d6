#include <gtest/gtest.h>

#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it

/// The graph of one layer, its nodes free to be spoilt.
class Verify : public ::testing::Test {
 protected:
  NodeId find(OpKind op) const {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      if (graph.nodes()[i].op == op) return static_cast<NodeId>(i);
    }
    return kNoNode;
  }
  Node& node(OpKind op) { return graph.mutable_node(find(op)); }
  void expect_error(std::string_view part) {
    const Status status = verify(graph);
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }

  Graph graph = build_model();
};

TEST_F(Verify, sound_graph_passes) { EXPECT_TRUE(verify(graph).ok()); }

TEST_F(Verify, attributes_of_another_op) {
  node(OpKind::kGlu).attrs = ScaleAttrs{};
  expect_error("blk.0.ffn_act (glu): the attributes are those of another operation");
}

TEST_F(Verify, input_that_does_not_exist) {
  node(OpKind::kAdd).inputs[1] = 9999;
  expect_error("blk.0.attn_residual (add): input 9999 does not exist");
}

TEST_F(Verify, value_read_before_it_is_made) {
  std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
  const auto glu = static_cast<std::size_t>(find(OpKind::kGlu));
  std::swap(nodes[glu], nodes[glu - 1]);
  graph.replace_nodes(std::move(nodes));
  expect_error("blk.0.ffn_act (glu): \"blk.0.ffn_up\" is read before it is made");
}

TEST_F(Verify, value_that_lost_its_producer) {
  std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
  nodes.erase(nodes.begin() + find(OpKind::kGlu));
  graph.replace_nodes(std::move(nodes));
  expect_error("(mat_mul): \"blk.0.ffn_act\" is read before it is made");
}

TEST_F(Verify, value_made_twice) {
  std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
  nodes.push_back(nodes.back());
  graph.replace_nodes(std::move(nodes));
  expect_error("names another producer");
  graph.mutable_value(graph.nodes().back().outputs[0]).producer =
      static_cast<NodeId>(graph.nodes().size() - 2);
  expect_error("\"logits\" is made twice");
}

TEST_F(Verify, producer_that_makes_something_else) {
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    if (graph.values()[i].kind == ValueKind::kInput) {
      graph.mutable_value(static_cast<ValueId>(i)).producer = 3;
      break;
    }
  }
  expect_error("\"ids\" names a producer that does not make it");
}

TEST_F(Verify, output_of_the_wrong_shape_type_or_rows) {
  const ValueId act = node(OpKind::kGlu).outputs[0];
  const Value sound = graph.value(act);
  graph.mutable_value(act).shape = {1, 95};
  expect_error("(glu): the output must be F32 [1, 96], but is F32 [1, 95]");
  graph.mutable_value(act) = sound;
  graph.mutable_value(act).dtype = DType::kQ8A;
  expect_error("(glu): the output must be F32 [1, 96], but is Q8A [1, 96]");
  graph.mutable_value(act) = sound;
  graph.mutable_value(act).rows = RowDomain::kTokens;
  expect_error("(glu): the output must be");
  graph.mutable_value(act) = sound;
  EXPECT_TRUE(verify(graph).ok());
}

TEST_F(Verify, wrong_number_of_inputs_or_outputs) {
  node(OpKind::kGlu).inputs.push_back(0);
  expect_error("(glu): 3 inputs, but 2 are wanted");
  graph = build_model();
  node(OpKind::kGlu).outputs.push_back(node(OpKind::kGlu).outputs[0]);
  expect_error("(glu): 2 outputs, but 1 are made");
}

TEST_F(Verify, kv_token_of_another_layer) {
  node(OpKind::kKvStore).attrs = KvStoreAttrs{2};
  expect_error("blk.0.kv (kv_store): the KV token names another layer");
}

TEST_F(Verify, output_of_another_kind) {
  graph.mutable_value(node(OpKind::kGlu).outputs[0]).kind = ValueKind::kKvToken;
  expect_error("(glu): the output is of another kind");
}

TEST_F(Verify, output_whose_producer_is_gone) {
  std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end() - 1);
  graph.replace_nodes(std::move(nodes));
  expect_error("output \"logits\" is made by no node");
}

TEST_F(Verify, kv_of_a_layer_written_twice) {
  Node second = node(OpKind::kKvStore);
  const ValueId token = graph.add_value(graph.value(second.outputs[0]));
  second.outputs = {token};
  graph.add_node(second);
  expect_error("the KV of layer 0 is written twice");
}

TEST_F(Verify, input_that_stands_twice) {
  graph.add_value(graph.value(0));
  expect_error("input \"ids\" of group 0 stands twice");
}

TEST_F(Verify, output_that_no_node_makes) {
  graph.add_output(0);
  expect_error("output \"ids\" is made by no node");
}

TEST_F(Verify, negative_backend) {
  node(OpKind::kGlu).backend = -1;
  expect_error("(glu): the backend is negative");
}

TEST_F(Verify, empty_graph) {
  graph = Graph();
  expect_error("the graph is empty");
}

}  // namespace
}  // namespace minfer::ir_test
