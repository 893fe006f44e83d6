#include "ir/print.h"

#include <gtest/gtest.h>

#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it

Graph small_graph() {
  Builder b;
  const ValueId ids = b.input(InputKind::kIds, {4}, RowDomain::kTokens);
  const ValueId x = b.embed(ids, b.weight(0, DType::kQ8_0, {10, 64}, "token_embd"), 8.0F, "embd");
  b.set_layer(0);
  const ValueId n = b.rms_norm(x, b.weight(1, DType::kF32, {64}, "norm.weight"), 1e-5F, "norm");
  b.set_layer(-1);
  b.output(b.add(x, n, "out \"q\""));
  return std::move(b).finish().value();
}

const std::string_view kNames[] = {"cpu"};

TEST(Print, text) {
  EXPECT_EQ(to_text(small_graph(), {kNames}),
            "input %0 ids I32 [4]\n"
            "   0 cpu %2 embd F32 [4, 64] = embed(%0 ids, %1 token_embd Q8_0 [10, 64]) scale=8\n"
            "   1 cpu %4 blk.0.norm F32 [4, 64] = rms_norm(%2 embd, %3 blk.0.norm.weight F32 "
            "[64]) eps=1e-05 group=64\n"
            "   2 cpu %5 out \"q\" F32 [4, 64] = add(%2 embd, %4 blk.0.norm)\n"
            "output %5 out \"q\" F32 [4, 64]\n");
}

TEST(Print, text_without_backend_names_shows_numbers) {
  EXPECT_NE(to_text(small_graph()).find("   0 0 %2 embd"), std::string::npos);
}

TEST(Print, dot) {
  EXPECT_EQ(to_dot(small_graph(), {kNames}),
            "digraph minfer {\n"
            "  node [shape=box, style=filled, fontsize=10];\n"
            "  v0 [label=\"ids\\nI32 [4]\", shape=ellipse, fillcolor=\"#ffffff\"];\n"
            "  n0 [label=\"embd (embed)\\nF32 [4, 64]\\ntoken_embd Q8_0 [10, 64]\", tooltip=\"cpu "
            "scale=8\", fillcolor=\"#cfe2f3\"];\n"
            "  subgraph cluster_0 {\n"
            "    label=\"layer 0\";\n"
            "    n1 [label=\"blk.0.norm (rms_norm)\\nF32 [4, 64]\\nblk.0.norm.weight F32 [64]\", "
            "tooltip=\"cpu eps=1e-05 group=64\", fillcolor=\"#cfe2f3\"];\n"
            "  }\n"
            "  n2 [label=\"out \\\"q\\\" (add)\\nF32 [4, 64]\", tooltip=\"cpu \", "
            "fillcolor=\"#cfe2f3\"];\n"
            "  v0 -> n0;\n"
            "  n0 -> n1;\n"
            "  n0 -> n2;\n"
            "  n1 -> n2;\n"
            "  out5 [label=\"output\", shape=ellipse];\n"
            "  n2 -> out5;\n"
            "}\n");
}

TEST(Print, json) {
  EXPECT_EQ(to_json(small_graph(), {kNames}),
            R"({"nodes":[
{"id":0,"op":"embed","layer":-1,"backend":"cpu","attrs":{"scale":8},"inputs":[0,1],"outputs":[2]},
{"id":1,"op":"rms_norm","layer":0,"backend":"cpu","attrs":{"eps":1e-05,"group":64},"inputs":[2,3],"outputs":[4]},
{"id":2,"op":"add","layer":-1,"backend":"cpu","attrs":{},"inputs":[2,4],"outputs":[5]}],"values":[
{"id":0,"name":"ids","kind":"input","dtype":"I32","shape":[4],"rows":"tokens"},
{"id":1,"name":"token_embd","kind":"weight","dtype":"Q8_0","shape":[10,64],"rows":"fixed"},
{"id":2,"name":"embd","kind":"transient","dtype":"F32","shape":[4,64],"rows":"tokens"},
{"id":3,"name":"blk.0.norm.weight","kind":"weight","dtype":"F32","shape":[64],"rows":"fixed"},
{"id":4,"name":"blk.0.norm","kind":"transient","dtype":"F32","shape":[4,64],"rows":"tokens"},
{"id":5,"name":"out \"q\"","kind":"transient","dtype":"F32","shape":[4,64],"rows":"tokens"}],"outputs":[5]}
)");
}

TEST(Print, json_has_every_attribute_and_leaves_out_dead_values) {
  Graph graph = build_model({.q_norm = true, .freq_factors = true});
  const std::string before = to_json(graph);
  EXPECT_NE(before.find(R"("op":"rope","layer":0,"backend":"0","attrs":{"n_head":4,"head_dim":16,)"
                        R"("n_rot":16,"mode":"normal","base":10000,"freq_scale":1})"),
            std::string::npos);
  EXPECT_NE(before.find(R"("op":"glu","layer":0,"backend":"0","attrs":{"activation":"silu"})"),
            std::string::npos);
  EXPECT_NE(before.find("\"kind\":\"kv_token\",\"dtype\":\"I32\",\"shape\":[]"), std::string::npos);
  EXPECT_NE(before.find("blk.0.ffn_act"), std::string::npos);
  std::vector<Node> nodes;
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kGlu) nodes.push_back(node);
  }
  graph.replace_nodes(std::move(nodes));
  EXPECT_EQ(to_json(graph).find("blk.0.ffn_act"), std::string::npos);
}

}  // namespace
}  // namespace minfer::ir_test
