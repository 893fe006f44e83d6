#include "plan/graph_cache.h"

#include <gtest/gtest.h>

#include "tests/plan/rig.h"

namespace minfer::tests {
namespace {

plan::GraphParams params(const PlanRig& rig, std::int32_t n_tokens, std::int32_t n_out) {
  plan::GraphParams p = rig.forward->options().base_params;
  p.n_tokens = n_tokens;
  p.n_out = n_out;
  return p;
}

TEST(Plan, reuse_requires_equal_params) {
  PlanRig rig;
  plan::GraphCache& cache = rig.forward->cache();
  const auto uid = [&](const plan::GraphParams& p) { return cache.find_or_build(p).value()->uid; };
  const plan::GraphParams base = params(rig, 4, 1);
  EXPECT_EQ(uid(base), 1U);
  EXPECT_EQ(uid(base), 1U);
  EXPECT_EQ(cache.stats().reused, 1U);

  plan::GraphParams p = base;
  p.n_tokens = 5;
  EXPECT_EQ(uid(p), 2U);
  p = base;
  p.n_out = 0;
  EXPECT_EQ(uid(p), 3U);
  p = base;
  p.rope_base = 500.0F;
  EXPECT_EQ(uid(p), 4U);
  p = base;
  p.weights_version = 1;
  EXPECT_EQ(uid(p), 5U);
  p = base;
  p.output = plan::OutputKind::kHidden;
  EXPECT_EQ(uid(p), 6U);
  EXPECT_EQ(uid(base), 1U);
  EXPECT_EQ(cache.stats().built, 6U);
}

TEST(Plan, fuse_flags_are_part_of_the_reuse_identity) {
  PlanRig rig;
  plan::GraphCache& cache = rig.forward->cache();
  plan::GraphParams p = params(rig, 1, 1);
  const plan::CompiledGraph* first = cache.find_or_build(p).value();
  p.fuse_qkv = false;
  const plan::CompiledGraph* second = cache.find_or_build(p).value();
  p.fuse_ffn = false;
  const plan::CompiledGraph* third = cache.find_or_build(p).value();
  EXPECT_EQ(first->uid, 1U);
  EXPECT_EQ(second->uid, 2U);
  EXPECT_EQ(third->uid, 3U);
  p.fuse_qkv = true;
  EXPECT_EQ(cache.find_or_build(p).value()->uid, 4U);
  p.fuse_ffn = true;
  EXPECT_EQ(cache.find_or_build(p).value()->uid, 1U);
}

TEST(Plan, most_recently_used_graphs_are_kept) {
  PlanRigOptions options;
  options.cache.max_graphs = 3;
  PlanRig rig(options);
  plan::GraphCache& cache = rig.forward->cache();
  const auto uid = [&](std::int32_t n) {
    return cache.find_or_build(params(rig, n, 1)).value()->uid;
  };
  EXPECT_EQ(uid(1), 1U);
  EXPECT_EQ(uid(2), 2U);
  EXPECT_EQ(uid(3), 3U);
  EXPECT_EQ(uid(1), 1U);  // 2 is the oldest now
  EXPECT_EQ(uid(4), 4U);
  EXPECT_EQ(cache.size(), 3U);
  EXPECT_EQ(uid(1), 1U);
  EXPECT_EQ(uid(3), 3U);
  EXPECT_EQ(uid(2), 5U);
}

TEST(Plan, structural_check_detects_different_graph) {
  PlanRig rig;
  bool changed = false;
  rig.build_override = [&](const plan::GraphParams& p) -> Result<ir::Graph> {
    MINFER_ASSIGN_OR_RETURN(ir::Graph graph, rig.model.build(p));
    if (changed) {
      for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
        ir::Node& node = graph.mutable_node(static_cast<ir::NodeId>(n));
        if (node.op != ir::OpKind::kAttention || node.layer != 1) continue;
        std::get<ir::AttentionAttrs>(node.attrs).scale = 0.5F;
      }
    }
    return graph;
  };
  plan::GraphCache& cache = rig.forward->cache();
  ASSERT_TRUE(cache.find_or_build(params(rig, 2, 1)).ok());
  ASSERT_TRUE(cache.find_or_build(params(rig, 2, 1)).ok());
  changed = true;
  const auto result = cache.find_or_build(params(rig, 2, 1));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
  EXPECT_NE(result.status().message().find("blk.1.attn"), std::string::npos)
      << result.status().message();
}

TEST(Plan, another_kv_region_is_refused) {
  PlanRig rig;
  plan::GraphParams p = params(rig, 1, 1);
  p.n_ctx = 301;
  EXPECT_EQ(rig.forward->cache().find_or_build(p).status().code(), StatusCode::kInvalidArgument);
  p = params(rig, 1, 1);
  p.kv_format = backend::KvFormat::kF16;
  const auto refused = rig.forward->cache().find_or_build(p);
  EXPECT_EQ(refused.status().message(),
            "the KV holds 300 positions of f32; a graph for 300 positions of f16 cannot use it");
}

TEST(Plan, failed_build_uses_no_uid) {
  PlanRig rig;
  rig.build_override = [](const plan::GraphParams&) -> Result<ir::Graph> {
    return unsupported("not today");
  };
  EXPECT_EQ(rig.forward->cache().find_or_build(params(rig, 1, 1)).status().message(), "not today");
  rig.build_override = nullptr;
  EXPECT_EQ(rig.forward->cache().find_or_build(params(rig, 1, 1)).value()->uid, 1U);
  EXPECT_EQ(rig.stats().built, 1U);
}

TEST(Plan, unfilled_input_is_an_error) {
  PlanRig rig;
  plan::GraphCache& cache = rig.forward->cache();
  const auto id = rig.open();
  ASSERT_TRUE(rig.run(rig.rows(id, random_tokens(3, 1))).ok());
  plan::CompiledGraph& graph = *cache.find_or_build(params(rig, 3, 1)).value();
  std::byte* arena = cache.arena(0).host_data();
  graph.inputs.begin_step();
  using ir::InputKind;
  for (const InputKind kind : {InputKind::kIds, InputKind::kPositions, InputKind::kSequence,
                               InputKind::kKvBounds, InputKind::kOutRows}) {
    EXPECT_FALSE(graph.inputs.fill(kind, 0, arena).empty());
  }
  EXPECT_TRUE(graph.inputs.fill(InputKind::kKvBounds, 1, arena).empty());
  plan::Scheduler scheduler(cache);
  const plan::SequenceId sequences[] = {id};
  const plan::Step step{.n_tokens = 3, .n_out = 1, .kv = rig.kv().access(sequences)};
  const Status status = scheduler.run(graph, step);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "input kv_pages.0 of the graph was not filled for this step");
}

TEST(Plan, an_input_that_forward_does_not_know_is_an_error) {
  PlanRig rig;
  // Bounds of a group that the KV does not have.
  rig.build_override = [&](const plan::GraphParams& p) -> Result<ir::Graph> {
    MINFER_ASSIGN_OR_RETURN(ir::Graph graph, rig.model.build(p));
    for (std::size_t v = 0; v < graph.values().size(); ++v) {
      ir::Value& value = graph.mutable_value(static_cast<ir::ValueId>(v));
      if (value.kind == ir::ValueKind::kInput && value.input == ir::InputKind::kKvBounds) {
        value.group = 5;
      }
    }
    return graph;
  };
  const auto id = rig.open();
  const auto result = rig.run(rig.rows(id, random_tokens(1, 1)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(),
            "input kv_bounds.5 of the graph was not filled for this step");
  EXPECT_EQ(rig.kv().length(id), 0);
}

}  // namespace
}  // namespace minfer::tests
