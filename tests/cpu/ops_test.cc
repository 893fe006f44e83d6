// Every primitive operation of the CPU backend against the scalar loops of the tests' reference
// backend: the same bits for every instruction set, number of threads and way to share out work.
#include <gtest/gtest.h>

#include <functional>

#include "tests/cpu/graph_rig.h"
#include "tests/support/reference_backend.h"

namespace minfer::tests {
namespace {

using ir::Activation;

/// Builds a graph on a rig and gives its output.
using Build = std::function<ir::ValueId(GraphRig&)>;

void expect_reference_bits(const Build& build, const RigStep& step,
                           backend::KvFormat format = backend::KvFormat::kF32) {
  const auto fresh = [&] {
    auto rig = std::make_unique<GraphRig>(20);
    rig->kv_format = format;
    rig->finish(build(*rig));
    return rig;
  };
  ReferenceBackend reference;
  const auto wanted = bits(fresh()->run(reference, step));
  ASSERT_FALSE(wanted.empty());
  for (const cpu::Isa isa : all_isas()) {
    for (const int threads : {1, 2, 3}) {
      for (const std::int64_t serial_cost : {std::int64_t{0}, std::int64_t{1} << 40}) {
        const auto cpu = make_cpu(threads, isa, serial_cost);
        const auto rig = fresh();
        EXPECT_EQ(bits(rig->run(*cpu, step)), wanted)
            << cpu::isa_name(isa) << ", " << threads << " threads, serial cost " << serial_cost;
        EXPECT_TRUE(rig->status().ok()) << rig->status().message();
      }
    }
  }
}

void expect_reference_bits(const Build& build) {
  // Fewer live rows than the graph has room for, and all of them.
  for (const std::int32_t n : {1, 13, 20}) expect_reference_bits(build, GraphRig::plain_step(n));
}

TEST(CpuOps, embed) {
  expect_reference_bits([](GraphRig& g) {
    return g.builder.embed(g.ids, g.weight(DType::kF32, {GraphRig::kIds, 37}), 3.5F, "x");
  });
}

TEST(CpuOps, rms_norm_of_rows_and_of_heads) {
  for (const std::int64_t n : {5, 16, 37, 64}) {
    expect_reference_bits([n](GraphRig& g) {
      return g.builder.rms_norm(g.rows(n), g.weight(DType::kF32, {n}), 1e-5F, "y");
    });
  }
  expect_reference_bits([](GraphRig& g) {
    return g.builder.rms_norm_heads(g.rows(3 * 24), g.weight(DType::kF32, {24}), 1e-6F, 24, "y");
  });
}

TEST(CpuOps, mat_mul) {
  for (const auto& [n, k] : {std::pair{1, 3}, {17, 37}, {40, 64}}) {
    expect_reference_bits([n = n, k = k](GraphRig& g) {
      return g.builder.mat_mul(g.rows(k), g.weight(DType::kF32, {n, k}), "y");
    });
  }
}

TEST(CpuOps, elementwise) {
  expect_reference_bits([](GraphRig& g) {
    const ir::ValueId x = g.builder.add(g.rows(37), g.rows(37), "sum");
    const ir::ValueId y = g.builder.mul(x, g.rows(37), "product");
    const ir::ValueId z = g.builder.add_bias(y, g.weight(DType::kF32, {37}), "biased");
    return g.builder.scale(z, 0.3F, "scaled");
  });
}

TEST(CpuOps, activation_and_glu) {
  for (const Activation kind :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu, Activation::kRelu}) {
    expect_reference_bits([kind](GraphRig& g) {
      const ir::ValueId wide = g.builder.scale(g.rows(37), 6.0F, "wide");
      return g.builder.glu(g.builder.activation(wide, kind, "a"), g.rows(37), kind, "y");
    });
  }
}

TEST(CpuOps, rope) {
  for (const ir::RopeMode mode : {ir::RopeMode::kNormal, ir::RopeMode::kNeox}) {
    for (const auto& [head_dim, n_rot] : {std::pair{6, 6}, {10, 4}, {40, 40}, {64, 64}}) {
      for (const bool factors : {false, true}) {
        expect_reference_bits([=, d = head_dim, r = n_rot](GraphRig& g) {
          const ir::RopeAttrs attrs{.n_head = 3,
                                    .head_dim = d,
                                    .n_rot = r,
                                    .mode = mode,
                                    .base = 500000.0F,
                                    .freq_scale = 0.25F};
          return g.builder.rope(g.rows(3 * d), g.positions,
                                factors ? g.weight(DType::kF32, {r / 2}) : ir::kNoValue, attrs,
                                "y");
        });
      }
    }
  }
}

TEST(CpuOps, gather_rows) {
  RigStep step = GraphRig::plain_step(13);
  step.n_out = 3;
  step.out_rows = {12, 0, 5};
  expect_reference_bits(
      [](GraphRig& g) { return g.builder.gather_rows(g.rows(37), g.out_rows, "y"); }, step);
}

TEST(CpuOps, scan_of_two_sequences) {
  RigStep step = GraphRig::plain_step(9);
  step.sequence = {0, 0, 2, 0, 2, 2, 1, 0, 0};
  step.pages = {{0}, {1}, {2}};
  expect_reference_bits(
      [](GraphRig& g) {
        return g.builder.scan(g.rows(37), g.sequence, {.slot = 0, .decay = 0.9F}, "y");
      },
      step);
}

ir::ValueId attend(GraphRig& g, std::int32_t n_head, std::int32_t n_head_kv,
                   std::int32_t head_dim) {
  g.add_kv_layer(n_head_kv, head_dim);
  const ir::ValueId k = g.rows(n_head_kv * head_dim);
  const ir::ValueId v = g.rows(n_head_kv * head_dim);
  const ir::ValueId token = g.builder.kv_store(k, v, g.positions, g.sequence, g.kv_inputs, 0);
  const ir::AttentionAttrs attrs{
      .layer = 0, .n_head = n_head, .n_head_kv = n_head_kv, .head_dim = head_dim, .scale = 0.31F};
  return g.builder.attention(g.rows(n_head * head_dim), token, g.sequence, g.kv_inputs, attrs, "y");
}

TEST(CpuOps, kv_store_and_attention) {
  for (const auto format : {backend::KvFormat::kF32, backend::KvFormat::kF16}) {
    for (const auto& [n_head, n_head_kv, head_dim] :
         {std::tuple{3, 1, 6}, {4, 4, 16}, {7, 1, 40}, {6, 2, 64}}) {
      for (const std::int32_t n : {1, 2, 13, 20}) {
        expect_reference_bits([&](GraphRig& g) { return attend(g, n_head, n_head_kv, head_dim); },
                              GraphRig::plain_step(n), format);
      }
    }
  }
}

TEST(CpuOps, attention_of_two_sequences_with_windows) {
  RigStep step = GraphRig::plain_step(12);
  step.sequence = {0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1};
  step.positions = {61, 62, 63, 0, 1, 2, 3, 4, 64, 65, 5, 6};
  step.pages = {{4, 9}, {2}};
  step.bounds.clear();
  for (std::size_t i = 0; i < 12; ++i) {
    const std::int32_t start = step.sequence[i] == 0 ? 61 : 0;
    step.bounds.push_back(std::max(start, step.positions[i] - 3));
    step.bounds.push_back(step.positions[i]);
  }
  expect_reference_bits([](GraphRig& g) { return attend(g, 6, 2, 20); }, step);
}

TEST(CpuOps, mixture_of_experts) {
  for (const bool normalize : {false, true}) {
    expect_reference_bits([normalize](GraphRig& g) {
      const ir::ValueId x = g.rows(37);
      const ir::ValueId logits = g.builder.mat_mul(x, g.weight(DType::kF32, {5, 37}), "router");
      const auto route =
          g.builder.moe_route(logits, {.n_expert = 5, .n_used = 2, .normalize = normalize});
      const ir::ValueId up = g.builder.moe_mat_mul(x, route.ids, g.weight(DType::kF32, {5, 21, 37}),
                                                   {.n_used = 2, .shared_input = true}, "up");
      const ir::ValueId down = g.builder.moe_mat_mul(
          up, route.ids, g.weight(DType::kF32, {5, 37, 21}), {.n_used = 2}, "down");
      return g.builder.moe_combine(down, route.weights, 2, "y");
    });
  }
}

TEST(CpuOps, unsupported_weight_type_is_refused) {
  GraphRig g(4);
  ir::Graph graph;
  const ir::ValueId x =
      g.builder.embed(g.ids, g.weight(DType::kF32, {GraphRig::kIds, 256}), 1, "x");
  const ir::ValueId w = g.builder.weight(1, DType::kNVFP4, {8, 256}, "w");
  g.builder.output(g.builder.mat_mul(x, w, "y"));
  graph = std::move(g.builder).finish().value();
  const auto cpu = make_cpu(1, cpu::Isa::kScalar, 0);
  EXPECT_TRUE(cpu->can_run(graph, graph.nodes()[0]));
  EXPECT_FALSE(cpu->can_run(graph, graph.nodes()[1]));
}

}  // namespace
}  // namespace minfer::tests
