// Fused operations against their unfused twins, quantised weights of every type, and the property
// that nothing but a row's own data moves its bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/cpu/graph_rig.h"

namespace minfer::tests {
namespace {

constexpr std::int32_t kHeadDim = 32;
constexpr std::int32_t kHeads = 6;
constexpr std::int32_t kHeadsKv = 2;
constexpr std::int64_t kEmbd = 96;
constexpr std::int64_t kFf = 160;

struct LayerOptions {
  DType type = DType::kF32;
  DType type_v = DType::kF32;
  bool biases = false;
  bool qk_norm = false;
  bool factors = false;
  ir::RopeMode mode = ir::RopeMode::kNormal;
  ir::Activation activation = ir::Activation::kSilu;
};

ir::ValueId project(GraphRig& g, ir::ValueId x, DType type, std::int64_t n, std::int64_t k,
                    bool bias) {
  const ir::ValueId y = g.builder.mat_mul(x, g.weight(type, {n, k}), "p");
  return bias ? g.builder.add_bias(y, g.weight(DType::kF32, {n}), "b") : y;
}

/// One dense transformer layer; K-quants need rows of 256, so n is scaled.
ir::ValueId layer(GraphRig& g, const LayerOptions& o, ir::ValueId x, std::int32_t index) {
  const bool wide = dtype_info(o.type).block_elements == 256;
  const std::int64_t n_embd = wide ? 256 : kEmbd;
  const std::int64_t n_ff = wide ? 512 : kFf;
  const auto vector = [&](std::int64_t n) { return g.weight(DType::kF32, {n}); };
  g.builder.set_layer(index);
  g.add_kv_layer(kHeadsKv, kHeadDim);
  const ir::ValueId h = g.builder.rms_norm(x, vector(n_embd), 1e-5F, "norm");
  ir::ValueId q = project(g, h, o.type, kHeads * kHeadDim, n_embd, o.biases);
  ir::ValueId k = project(g, h, o.type, kHeadsKv * kHeadDim, n_embd, o.biases);
  const ir::ValueId v = project(g, h, o.type_v, kHeadsKv * kHeadDim, n_embd, o.biases);
  if (o.qk_norm) {
    q = g.builder.rms_norm_heads(q, vector(kHeadDim), 1e-6F, kHeadDim, "qn");
    k = g.builder.rms_norm_heads(k, vector(kHeadDim), 1e-6F, kHeadDim, "kn");
  }
  const ir::ValueId factors = o.factors ? vector(kHeadDim / 2) : ir::kNoValue;
  ir::RopeAttrs rope{
      .n_head = kHeads, .head_dim = kHeadDim, .n_rot = kHeadDim, .mode = o.mode, .base = 10000.0F};
  q = g.builder.rope(q, g.positions, factors, rope, "qr");
  rope.n_head = kHeadsKv;
  k = g.builder.rope(k, g.positions, factors, rope, "kr");
  const auto token = g.builder.kv_store(k, v, g.positions, g.sequence, g.kv_inputs, index);
  const auto attention = g.builder.attention(q, token, g.sequence, g.kv_inputs,
                                             {.layer = index,
                                              .n_head = kHeads,
                                              .n_head_kv = kHeadsKv,
                                              .head_dim = kHeadDim,
                                              .scale = 0.17F},
                                             "attention");
  // The output projection takes rows of n_head * head_dim, which K-quants cannot have here.
  const DType type_o = wide ? DType::kQ8_0 : o.type;
  const auto o_proj = project(g, attention, type_o, n_embd, kHeads * kHeadDim, o.biases);
  const ir::ValueId y = g.builder.add(o_proj, x, "residual");
  const ir::ValueId f = g.builder.rms_norm(y, vector(n_embd), 1e-5F, "ffn_norm");
  const ir::ValueId gate = project(g, f, o.type, n_ff, n_embd, o.biases);
  const ir::ValueId up = project(g, f, o.type, n_ff, n_embd, o.biases);
  const ir::ValueId a = g.builder.glu(gate, up, o.activation, "glu");
  return g.builder.add(project(g, a, o.type, n_embd, n_ff, o.biases), y, "out");
}

std::unique_ptr<GraphRig> make_rig(const LayerOptions& o, std::int32_t n_layers = 2) {
  auto g = std::make_unique<GraphRig>(20);
  const std::int64_t n_embd = dtype_info(o.type).block_elements == 256 ? 256 : kEmbd;
  ir::ValueId x = g->rows(n_embd);
  for (std::int32_t i = 0; i < n_layers; ++i) x = layer(*g, o, x, i);
  g->builder.set_layer(-1);
  x = g->builder.rms_norm(x, g->weight(DType::kF32, {n_embd}), 1e-5F, "norm");
  g->finish(g->builder.mat_mul(x, g->weight(o.type, {77, n_embd}), "logits"));
  return g;
}

bool has_fused(const ir::Graph& graph, ir::OpKind op) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [op](const ir::Node& node) { return node.op == op; });
}

void expect_fused_bits(const LayerOptions& o) {
  const auto rig = make_rig(o);
  for (const std::int32_t n : {1, 7, 20}) {
    const RigStep step = GraphRig::plain_step(n);
    std::vector<std::uint32_t> wanted;
    for (const cpu::Isa isa : all_isas()) {
      for (const bool fuse : {false, true}) {
        for (const bool repack : {false, true}) {
          // Two threads share out everything; one thread does it in order.
          const int threads = fuse ? 2 : 1;
          const auto cpu = make_cpu(threads, isa, repack ? 0 : 1 << 14, repack);
          const auto got = bits(rig->run(*cpu, step, {.fuse = fuse}));
          ASSERT_TRUE(rig->status().ok()) << rig->status().message();
          if (wanted.empty()) wanted = got;
          EXPECT_EQ(got, wanted) << dtype_name(o.type) << ' ' << cpu::isa_name(isa)
                                 << (fuse ? " fused" : "") << (repack ? " repacked" : "");
          EXPECT_EQ(has_fused(rig->last_graph(), ir::OpKind::kFusedQkv), fuse);
          EXPECT_EQ(has_fused(rig->last_graph(), ir::OpKind::kFusedGateUp), fuse);
          EXPECT_EQ(has_fused(rig->last_graph(), ir::OpKind::kFusedNorm), fuse);
        }
      }
    }
  }
}

TEST(CpuFusion, same_bits_for_every_weight_type) {
  for (const DType type :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
        DType::kQ5_1, DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    expect_fused_bits({.type = type, .type_v = type});
  }
}

TEST(CpuFusion, same_bits_with_bias_norm_factors_and_mixed_types) {
  expect_fused_bits({.type = DType::kQ4_0,
                     .type_v = DType::kQ8_0,
                     .biases = true,
                     .qk_norm = true,
                     .factors = true,
                     .mode = ir::RopeMode::kNeox,
                     .activation = ir::Activation::kGeluTanh});
  expect_fused_bits({.type = DType::kF32, .type_v = DType::kF16, .biases = true});
}

TEST(CpuFusion, five_barriers_a_dense_layer) {
  const auto cpu = make_cpu(2, all_isas().back(), 1 << 14);
  std::int32_t before = 0;
  for (const std::int32_t layers : {1, 2, 3}) {
    const auto rig = make_rig({.type = DType::kQ4_0, .type_v = DType::kQ4_0}, layers);
    rig->run(*cpu, GraphRig::plain_step(1), {.fuse = true});
    ASSERT_TRUE(rig->status().ok()) << rig->status().message();
    EXPECT_EQ(rig->barriers(), 5 * layers);  // and the head ends with the pool's own meeting
    EXPECT_EQ(rig->barriers() - before, 5);
    before = rig->barriers();
  }
}

TEST(CpuFusion, a_row_alone_has_the_bits_it_has_in_a_batch) {
  // Three sequences of one token each, at different depths, in two orders and alone.
  const auto cpu = make_cpu(2, all_isas().back(), 0);
  const auto rig = make_rig({.type = DType::kQ4_1, .type_v = DType::kQ4_1}, 1);
  const auto step_of = [](const std::vector<std::int32_t>& members) {
    RigStep step;
    step.n_tokens = static_cast<std::int32_t>(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::int32_t m = members[i];
      step.ids.push_back(3 + m);
      step.positions.push_back(0);
      step.sequence.push_back(static_cast<std::int32_t>(i));
      step.pages.push_back({2 * m + 1});
      step.bounds.insert(step.bounds.end(), {0, 0});
    }
    return step;
  };
  const auto logits = [&](const std::vector<std::int32_t>& members) {
    return bits(rig->run(*cpu, step_of(members), {.fuse = true}));
  };
  const auto row = [](const std::vector<std::uint32_t>& all, std::size_t r) {
    return std::vector<std::uint32_t>(all.begin() + static_cast<std::ptrdiff_t>(77 * r),
                                      all.begin() + static_cast<std::ptrdiff_t>(77 * (r + 1)));
  };
  const auto together = logits({0, 1, 2});
  const auto turned = logits({2, 0, 1});
  for (const std::int32_t m : {0, 1, 2}) {
    const auto alone = logits({m});
    EXPECT_EQ(row(together, static_cast<std::size_t>(m)), alone);
    EXPECT_EQ(row(turned, static_cast<std::size_t>((m + 1) % 3)), alone);
  }
}

TEST(CpuFusion, an_experts_rows_do_not_depend_on_batch_mates) {
  for (const DType type : {DType::kF32, DType::kQ4_0, DType::kQ8_0}) {
    GraphRig g(20);
    const ir::ValueId x = g.rows(96);
    const auto logits = g.builder.mat_mul(x, g.weight(DType::kF32, {5, 96}), "router");
    const auto route = g.builder.moe_route(logits, {.n_expert = 5, .n_used = 2});
    const auto up = g.builder.moe_mat_mul(x, route.ids, g.weight(type, {5, 64, 96}),
                                          {.n_used = 2, .shared_input = true}, "up");
    const auto down =
        g.builder.moe_mat_mul(up, route.ids, g.weight(type, {5, 96, 64}), {.n_used = 2}, "down");
    g.finish(g.builder.moe_combine(down, route.weights, 2, "y"));
    std::vector<std::uint32_t> wanted;
    for (const cpu::Isa isa : all_isas()) {
      for (const bool fuse : {false, true}) {
        const auto cpu = make_cpu(3, isa, 0, fuse);
        const auto all = bits(g.run(*cpu, GraphRig::plain_step(20), {.fuse = fuse}));
        ASSERT_EQ(all.size(), 20U * 96);
        if (wanted.empty()) wanted = all;
        EXPECT_EQ(all, wanted);
        for (std::int32_t r = 0; r < 20; ++r) {
          RigStep one = GraphRig::plain_step(1);
          one.ids = {GraphRig::plain_step(20).ids[static_cast<std::size_t>(r)]};
          const auto alone = bits(g.run(*cpu, one, {.fuse = fuse}));
          EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + 96 * r));
        }
      }
    }
  }
}

}  // namespace
}  // namespace minfer::tests
