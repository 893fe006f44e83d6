#include "plan/liveness.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ir/op.h"
#include "plan/splits.h"
#include "tests/plan/rig.h"

namespace minfer::tests {
namespace {

using ir::ValueId;

/// A graph written by hand over rows of 8 elements, and its plan on one or two backends.
struct Planned {
  ir::Graph graph;
  std::vector<std::uint8_t> live;
  std::vector<plan::Split> splits;
  plan::MemoryPlan memory;
  std::size_t n_backends = 1;

  const backend::ValuePlace& place(ValueId id, std::size_t backend = 0) const {
    return memory.places[backend][static_cast<std::size_t>(id)];
  }
  bool same_bytes(ValueId a, ValueId b) const { return place(a).offset == place(b).offset; }
};

ReferenceBackend& reference() {
  static ReferenceBackend backend;
  return backend;
}

Planned plan_graph(ir::Graph graph, std::size_t n_backends = 1) {
  Planned p;
  p.graph = std::move(graph);
  p.n_backends = n_backends;
  p.live = plan::live_nodes(p.graph);
  p.splits = plan::make_splits(p.graph, p.live, static_cast<std::int32_t>(n_backends - 1));
  const std::vector<backend::Backend*> backends(n_backends, &reference());
  p.memory = plan::plan_memory(p.graph, backends, p.live, p.splits);
  return p;
}

class Hand {
 public:
  Hand() {
    ids = b.input(ir::InputKind::kIds, {4}, ir::RowDomain::kTokens);
    table = b.weight(0, DType::kF32, {10, 8}, "table");
    square = b.weight(1, DType::kF32, {8, 8}, "square");
  }
  ValueId embed() { return b.embed(ids, table, 1.0F, "embed"); }
  ValueId scale(ValueId x) { return b.scale(x, 2.0F, "scale"); }
  ValueId product(ValueId x) { return b.mat_mul(x, square, "product"); }
  ir::Graph finish(ValueId output) {
    b.output(output);
    return std::move(b).finish().value();
  }
  ir::Builder b;
  ValueId ids, table, square;
};

struct Use {
  int first = -1, last = -1;
};

/// By backend and value: the nodes between which its bytes must keep, worked out by brute force.
/// In-place takeovers are not known here.
std::vector<std::vector<Use>> brute_force_uses(const Planned& p) {
  const auto n = static_cast<int>(p.graph.nodes().size());
  std::vector<std::vector<Use>> uses(p.n_backends, std::vector<Use>(p.graph.values().size()));
  const auto touch = [&](std::size_t backend, ValueId id, int from, int to) {
    if (!p.memory.places[backend][static_cast<std::size_t>(id)].placed) return;
    Use& use = uses[backend][static_cast<std::size_t>(id)];
    use.first = use.first < 0 ? from : std::min(use.first, from);
    use.last = std::max(use.last, to);
  };
  for (const plan::Split& split : p.splits) {
    const auto b = static_cast<std::size_t>(split.backend);
    for (const auto& staged : split.staged) {
      touch(b, staged.value, split.nodes.front(), split.nodes.front());
      touch(static_cast<std::size_t>(staged.from_backend), staged.value, split.nodes.front(),
            split.nodes.front());
    }
    for (ir::NodeId node : split.nodes) {
      for (ValueId id : p.graph.node(node).inputs) touch(b, id, node, node);
      for (ValueId id : p.graph.node(node).outputs) touch(b, id, node, node);
    }
  }
  for (std::size_t v = 0; v < p.graph.values().size(); ++v) {
    const bool input = p.graph.values()[v].kind == ir::ValueKind::kInput;
    if (input) touch(p.n_backends - 1, static_cast<ValueId>(v), 0, n);
  }
  for (ValueId id : p.graph.outputs()) {
    touch(static_cast<std::size_t>(p.graph.node(p.graph.value(id).producer).backend), id, 0, n);
  }
  return uses;
}

bool bytes_overlap(const Planned& p, std::size_t backend, ValueId a, ValueId b) {
  const auto range = [&](ValueId id) {
    const auto& place = p.place(id, backend);
    const Shape& shape = p.graph.value(id).shape;
    const std::int64_t rows = shape.rank() == 1 ? shape[0] : shape.rows();
    return std::pair(place.offset,
                     place.offset + place.row_bytes * static_cast<std::uint64_t>(rows));
  };
  const auto [a0, a1] = range(a);
  const auto [b0, b1] = range(b);
  return a0 < b1 && b0 < a1;
}

/// True if the node that makes `b` takes over the bytes of `a`, which it is the last to read.
bool is_takeover(const Planned& p, ValueId a, ValueId b, const Use& use_a, const Use& use_b) {
  const ir::NodeId maker = p.graph.value(b).producer;
  const bool output = std::count(p.graph.outputs().begin(), p.graph.outputs().end(), b) > 0;
  if (maker < 0 || use_a.last != maker || (use_b.first != maker && !output)) return false;
  const int input = ir::in_place_input(p.graph.node(maker).op);
  return input >= 0 && p.graph.node(maker).inputs[input] == a;
}

void expect_no_conflict(const Planned& p) {
  const auto uses = brute_force_uses(p);
  for (std::size_t backend = 0; backend < p.n_backends; ++backend) {
    for (std::size_t a = 0; a < uses[backend].size(); ++a) {
      for (std::size_t b = 0; b < uses[backend].size(); ++b) {
        const Use& use_a = uses[backend][a];
        const Use& use_b = uses[backend][b];
        if (a == b || use_a.first < 0 || use_b.first < 0) continue;
        if (use_a.last < use_b.first || use_b.last < use_a.first) continue;
        const auto va = static_cast<ValueId>(a);
        const auto vb = static_cast<ValueId>(b);
        if (!bytes_overlap(p, backend, va, vb)) continue;
        EXPECT_TRUE(is_takeover(p, va, vb, use_a, use_b) || is_takeover(p, vb, va, use_b, use_a))
            << p.graph.value_name(va) << " and " << p.graph.value_name(vb) << " on " << backend;
      }
    }
  }
}

plan::GraphParams tiny_params(std::int32_t n_tokens, std::int32_t n_out) {
  return {.n_tokens = n_tokens, .n_out = n_out, .n_ctx = 300};
}

TEST(Plan, inputs_live_for_the_whole_step) {
  const TinyTransformer model({.windows = {0, 16}});
  for (const std::int32_t n_out : {0, 1, 3, 5}) {
    const Planned p = plan_graph(model.build(tiny_params(5, n_out)).value());
    int n_inputs = 0;
    for (std::size_t v = 0; v < p.graph.values().size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      const bool output = std::count(p.graph.outputs().begin(), p.graph.outputs().end(), id) > 0;
      if (p.graph.value(id).kind != ir::ValueKind::kInput && !output) continue;
      if (!p.place(id).placed) continue;
      n_inputs += output ? 0 : 1;
      for (std::size_t w = 0; w < p.graph.values().size(); ++w) {
        const auto other = static_cast<ValueId>(w);
        if (other == id || !p.place(other).placed) continue;
        EXPECT_FALSE(bytes_overlap(p, 0, id, other))
            << p.graph.value_name(id) << " shares bytes with " << p.graph.value_name(other);
      }
    }
    EXPECT_GE(n_inputs, 6);
  }
}

TEST(Plan, in_place_alias_extends_lifetime) {
  Hand h;
  const ValueId a = h.embed();
  const ValueId b = h.scale(a);    // takes over a
  const ValueId c = h.scale(b);    // takes over b: still a's bytes
  const ValueId d = h.product(c);  // c is read here ...
  const ValueId e = h.product(d);
  const ValueId f = h.product(e);
  const ValueId g = h.b.add(f, c, "late");  // ... and here, long after a's own last reader
  const Planned p = plan_graph(h.finish(h.product(g)));
  EXPECT_TRUE(p.same_bytes(a, b));
  EXPECT_TRUE(p.same_bytes(a, c));
  for (const ValueId between : {d, e, f}) {
    EXPECT_FALSE(bytes_overlap(p, 0, a, between)) << p.graph.value_name(between);
  }
  EXPECT_TRUE(p.same_bytes(f, g));
  expect_no_conflict(p);
}

TEST(Plan, in_place_needs_a_sole_reader) {
  Hand h;
  const ValueId a = h.embed();
  const ValueId b = h.scale(a);
  const ValueId c = h.b.add(b, a, "again");
  const Planned p = plan_graph(h.finish(h.product(c)));
  EXPECT_FALSE(p.same_bytes(a, b));
  EXPECT_TRUE(p.same_bytes(b, c));
  expect_no_conflict(p);

  Hand twice;
  const ValueId x = twice.embed();
  const ValueId y = twice.b.add(x, x, "twice");
  EXPECT_FALSE(plan_graph(twice.finish(y)).same_bytes(x, y));
}

TEST(Plan, in_place_spares_graph_outputs) {
  Hand h;
  const ValueId a = h.product(h.embed());
  h.b.output(a);
  const ValueId b = h.scale(a);
  const Planned p = plan_graph(h.finish(b));
  EXPECT_FALSE(bytes_overlap(p, 0, a, b));
}

TEST(Plan, an_output_that_took_over_bytes_keeps_them) {
  Hand h;
  const ValueId a = h.product(h.embed());
  const ValueId b = h.scale(a);
  h.b.output(b);
  ValueId c = h.product(b);
  for (int i = 0; i < 4; ++i) c = h.product(c);
  const Planned p = plan_graph(h.finish(c));
  EXPECT_TRUE(p.same_bytes(a, b));
  expect_no_conflict(p);
}

TEST(Plan, in_place_stays_on_one_backend) {
  Hand h;
  const ValueId a = h.embed();
  const ValueId b = h.scale(a);
  const ValueId c = h.scale(b);
  ir::Graph graph = h.finish(c);
  graph.mutable_node(0).backend = 1;
  graph.mutable_node(1).backend = 0;
  graph.mutable_node(2).backend = 0;
  const Planned p = plan_graph(std::move(graph), 2);
  ASSERT_EQ(p.splits.size(), 2U);
  ASSERT_EQ(p.splits[1].staged.size(), 1U);
  EXPECT_EQ(p.splits[1].staged[0].value, a);
  EXPECT_EQ(p.splits[1].staged[0].from_backend, 1);
  EXPECT_NE(p.place(a, 0).offset, p.place(b, 0).offset);
  EXPECT_EQ(p.place(b, 0).offset, p.place(c, 0).offset);
  EXPECT_FALSE(p.place(b, 1).placed);
}

TEST(Plan, dead_nodes_have_no_bytes_and_do_not_run) {
  Hand h;
  const ValueId a = h.embed();
  const ValueId dead = h.product(a);
  const ValueId dead_too = h.scale(dead);
  const ValueId b = h.scale(a);
  const Planned p = plan_graph(h.finish(b));
  EXPECT_FALSE(p.place(dead).placed);
  EXPECT_FALSE(p.place(dead_too).placed);
  ASSERT_EQ(p.splits.size(), 1U);
  EXPECT_EQ(p.splits[0].nodes, (std::vector<ir::NodeId>{0, 3}));
  // The dead reader does not count as one: b takes over a.
  EXPECT_TRUE(p.same_bytes(a, b));
}

TEST(Plan, a_value_is_staged_once_a_backend) {
  Hand h;
  const ValueId a = h.embed();
  const ValueId b = h.product(a);
  const ValueId c = h.product(b);
  const ValueId d = h.b.add(c, a, "d");
  ir::Graph graph = h.finish(h.b.add(d, a, "e"));
  const std::int8_t backends[] = {1, 0, 1, 0, 0};
  for (int n = 0; n < 5; ++n) graph.mutable_node(n).backend = backends[n];
  const Planned p = plan_graph(std::move(graph), 2);
  ASSERT_EQ(p.splits.size(), 4U);
  EXPECT_TRUE(p.splits[0].staged.empty());
  ASSERT_EQ(p.splits[1].staged.size(), 1U);
  EXPECT_EQ(p.splits[1].staged[0].value, a);
  ASSERT_EQ(p.splits[2].staged.size(), 1U);
  EXPECT_EQ(p.splits[2].staged[0].value, b);
  ASSERT_EQ(p.splits[3].staged.size(), 1U) << "a is there already";
  EXPECT_EQ(p.splits[3].staged[0].value, c);
  expect_no_conflict(p);
}

TEST(Plan, best_fit_takes_the_smallest_gap) {
  const auto interval = [](ir::NodeId first, ir::NodeId last, std::uint64_t size) {
    return plan::Interval{.first = first, .last = last, .size_bytes = size};
  };
  std::vector<plan::Interval> intervals = {interval(0, 1, 256), interval(0, 9, 64),
                                           interval(0, 1, 128), interval(0, 9, 64),
                                           interval(2, 9, 128), interval(3, 4, 512)};
  EXPECT_EQ(plan::assign_offsets(intervals), 1024U);
  EXPECT_EQ(intervals[4].offset, 320U) << "the gap of 128, not that of 256";
  EXPECT_EQ(intervals[5].offset, 512U);
}

TEST(Plan, no_two_living_values_share_bytes) {
  std::mt19937 random(99);
  for (int round = 0; round < 40; ++round) {
    const TinyTransformer model({.windows = {0, 16, 0}, .recurrent = round % 2 == 0});
    ir::Graph graph =
        model.build(tiny_params(1 + round, round % 4 == 0 ? 0 : 1 + round / 2)).value();
    const bool two = round >= 10;
    for (std::size_t n = 0; two && n < graph.nodes().size(); ++n) {
      graph.mutable_node(static_cast<ir::NodeId>(n)).backend =
          static_cast<std::int8_t>(random() % 3 == 0);
    }
    const Planned p = plan_graph(std::move(graph), two ? 2 : 1);
    expect_no_conflict(p);
    for (std::size_t b = 0; b < p.n_backends; ++b) {
      for (const auto& place : p.memory.places[b]) {
        if (!place.placed) continue;
        EXPECT_EQ(place.offset % plan::kArenaAlignment, 0U);
        EXPECT_LT(place.offset, p.memory.arena_bytes[b]);
      }
    }
  }
}

TEST(Plan, a_plan_is_far_smaller_than_its_values) {
  const TinyTransformer model({.windows = std::vector<std::int32_t>(12, 0)});
  const Planned p = plan_graph(model.build(tiny_params(64, 1)).value());
  std::uint64_t all = 0;
  for (std::size_t v = 0; v < p.graph.values().size(); ++v) {
    const auto& place = p.memory.places[0][v];
    if (place.placed && p.graph.values()[v].kind == ir::ValueKind::kTransient) {
      all += place.row_bytes * static_cast<std::uint64_t>(p.graph.values()[v].shape.rows());
    }
  }
  EXPECT_LT(p.memory.arena_bytes[0], all / 10);
}

}  // namespace
}  // namespace minfer::tests
