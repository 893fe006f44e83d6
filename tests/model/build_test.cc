// build_graph: a function of its parameters; cuts the last layer down to the rows with outputs.
#include <gtest/gtest.h>

#include <set>

#include "ir/op.h"
#include "model/model.h"
#include "tests/model/model_file.h"
#include "tests/support/tiny_model.h"

namespace minfer::model {
namespace {

class Build : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    tests::TinyModelSpec spec;
    spec.arch = GetParam();
    const std::string path = scratch_path("build.gguf");
    ASSERT_TRUE(tests::write_tiny_model(spec, path).ok());
    auto loaded = Model::load(path, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = std::move(loaded).value();
  }

  [[nodiscard]] ir::Graph build(std::int32_t n_tokens, std::int32_t n_out,
                                plan::OutputKind output = plan::OutputKind::kLogits) const {
    plan::GraphParams params;
    params.n_tokens = n_tokens;
    params.n_out = n_out;
    params.n_ctx = 200;
    params.output = output;
    auto graph = model_->build_graph(params);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return std::move(graph).value();
  }

  static std::int64_t count(const ir::Graph& graph, ir::OpKind op, std::int32_t layer) {
    return std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const ir::Node& node) {
      return node.op == op && node.layer == layer;
    });
  }

  std::unique_ptr<Model> model_;
};

TEST_P(Build, is_a_function_of_its_parameters) {
  EXPECT_TRUE(ir::compare_graphs(build(7, 1), build(7, 1)).ok());
  EXPECT_FALSE(ir::compare_graphs(build(7, 1), build(8, 1)).ok());
}

TEST_P(Build, all_rows_need_no_gather) {
  const ir::Graph graph = build(5, 5);
  EXPECT_EQ(count(graph, ir::OpKind::kGatherRows, 2), 0);
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.value(graph.outputs()[0]).shape, (Shape{5, tests::kTinyVocab}));
}

TEST_P(Build, fewer_rows_are_gathered_before_the_last_output_projection) {
  const ir::Graph graph = build(5, 2);
  EXPECT_EQ(count(graph, ir::OpKind::kGatherRows, 2), 2);
  EXPECT_EQ(count(graph, ir::OpKind::kGatherRows, 1), 0);
  EXPECT_EQ(graph.value(graph.outputs()[0]).shape, (Shape{2, tests::kTinyVocab}));
  bool cut = false;
  for (const ir::Node& node : graph.nodes()) {
    cut = cut || node.op == ir::OpKind::kGatherRows;
    const ir::Value& out = graph.value(node.outputs[0]);
    if (node.layer == 2 && cut && node.op != ir::OpKind::kGatherRows) {
      EXPECT_EQ(out.rows, ir::RowDomain::kOut) << out.label;
    }
  }
}

TEST_P(Build, no_rows_end_with_the_last_kv) {
  const ir::Graph graph = build(5, 0);
  EXPECT_TRUE(graph.outputs().empty());
  EXPECT_EQ(graph.nodes().back().op, ir::OpKind::kKvStore);
  EXPECT_EQ(count(graph, ir::OpKind::kKvStore, 2), 1);
  EXPECT_EQ(count(graph, ir::OpKind::kAttention, 2), 0);
  EXPECT_EQ(count(graph, ir::OpKind::kMatMul, 2), 2);  // K and V
}

TEST_P(Build, hidden_rows_need_no_head) {
  const ir::Graph graph = build(5, 5, plan::OutputKind::kHidden);
  EXPECT_EQ(graph.value(graph.outputs()[0]).shape, (Shape{5, 44}));
  EXPECT_EQ(graph.nodes().back().op, ir::OpKind::kRmsNorm);
}

TEST_P(Build, rope_options_change_global_layers_alone) {
  plan::GraphParams params;
  params.n_tokens = params.n_out = 3;
  params.n_ctx = 64;
  params.rope_base = 77.0F;
  params.rope_scale = 0.5F;
  const auto graph = model_->build_graph(params);
  ASSERT_TRUE(graph.ok());
  for (const ir::Node& node : graph->nodes()) {
    if (node.op != ir::OpKind::kRope) continue;
    const auto& rope = std::get<ir::RopeAttrs>(node.attrs);
    const bool local = model_->hparams().layers[static_cast<std::size_t>(node.layer)].local_rope;
    EXPECT_EQ(rope.base, local ? 10000.0F : 77.0F);
    EXPECT_EQ(rope.freq_scale, local ? 1.0F : 0.5F);
  }
}

TEST_P(Build, each_window_has_its_page_tables) {
  const ir::Graph graph = build(5, 1);
  std::set<std::int32_t> groups;
  for (const ir::Value& value : graph.values()) {
    if (value.kind != ir::ValueKind::kInput || value.input != ir::InputKind::kKvPages) continue;
    groups.insert(value.group);
    EXPECT_EQ(value.shape, (Shape{5, 4}));  // 200 positions in pages of 64
  }
  EXPECT_EQ(groups.size(), std::string_view(GetParam()) == "gemma3" ? 2U : 1U);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Build,
                         testing::Values("llama", "qwen2", "qwen3", "qwen3moe", "gemma3"));

}  // namespace
}  // namespace minfer::model
