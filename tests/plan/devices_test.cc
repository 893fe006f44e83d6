// Graphs that are split between the host and a device with its own address space, poisoned memory,
// a worker thread with random delays and captures: the same bits as on the host alone.
#include <gtest/gtest.h>

#include <random>

#include "tests/plan/rig.h"

namespace minfer::tests {
namespace {

constexpr std::size_t kVocab = TinyTransformer::kVocab;
const TinyOptions kTiny{.windows = {0, 40, 0}, .recurrent = true};

std::vector<float> host_alone(std::span<const std::int32_t> tokens, std::size_t chunk) {
  PlanRig rig({.tiny = kTiny});
  return rig.run_all(rig.open(), tokens, chunk);
}

TEST(Devices, everything_on_the_device) {
  const auto tokens = random_tokens(90, 1);
  PlanRig rig({.tiny = kTiny, .with_device = true, .kv_on_device = true});
  EXPECT_EQ(rig.run_all(rig.open(), tokens, 40), host_alone(tokens, 90));
  EXPECT_EQ(rig.forward->compiled(40, 40).value()->splits.size(), 1U);
}

TEST(Devices, the_host_keeps_the_kv) {
  const auto tokens = random_tokens(90, 2);
  PlanRig rig({.tiny = kTiny, .with_device = true});
  EXPECT_EQ(rig.run_all(rig.open(), tokens, 40), host_alone(tokens, 90));
  EXPECT_GT(rig.forward->compiled(40, 40).value()->splits.size(), 6U);
}

TEST(Devices, any_cut_gives_the_same_bits) {
  const auto tokens = random_tokens(30, 3);
  const auto expected = host_alone(tokens, 30);
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    PlanRig rig({.tiny = kTiny, .with_device = true});
    // A choice by operation and layer, so that a fresh derivation makes the same one.
    rig.device->accepts = [&](const ir::Node& node) {
      std::minstd_rand random(seed * 1000 + static_cast<std::uint32_t>(node.outputs[0]));
      random.discard(3);
      return random() % 2 == 0;
    };
    EXPECT_EQ(rig.run_all(rig.open(), tokens, 7), expected) << seed;
  }
}

TEST(Devices, the_device_runs_what_the_host_refuses) {
  const auto tokens = random_tokens(10, 4);
  PlanRig rig({.tiny = kTiny, .with_device = true});
  rig.device->accepts = [](const ir::Node& node) { return node.op == ir::OpKind::kGlu; };
  EXPECT_EQ(rig.run_all(rig.open(), tokens, 10), host_alone(tokens, 10));
  const auto* graph = rig.forward->compiled(10, 10).value();
  EXPECT_EQ(graph->splits.size(), 2 * 3 + 1U);
  for (std::size_t i = 1; i < graph->splits.size(); i += 2) {
    EXPECT_EQ(graph->splits[i].backend, 0);
    EXPECT_EQ(graph->splits[i].staged.size(), 2U) << "gate and up";
  }
}

TEST(Devices, an_operation_that_nobody_runs_is_named) {
  PlanRig rig({.tiny = kTiny, .with_device = true});
  rig.device->refused.insert(ir::OpKind::kGlu);
  rig.host.refused.insert(ir::OpKind::kGlu);
  const auto result = rig.run(rig.rows(rig.open(), random_tokens(2, 1)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(result.status().message().find("blk.0.ffn_act (glu)"), std::string::npos)
      << result.status().message();
}

TEST(Devices, a_border_is_crossed_once_and_waited_for_once) {
  PlanRig rig({.tiny = kTiny, .with_device = true});
  rig.device->accepts = [](const ir::Node& node) { return node.op == ir::OpKind::kGlu; };
  const auto id = rig.open();
  ASSERT_TRUE(rig.run(rig.rows(id, random_tokens(4, 5), true)).ok());
  const auto before = rig.forward->counters();
  ASSERT_TRUE(rig.run(rig.rows(id, random_tokens(4, 6), true)).ok());
  const auto after = rig.forward->counters();
  // A layer: gate and up to the device, the product back; rows differ in size, so one copy a row.
  EXPECT_EQ(after.copies - before.copies, 3U * 3U * 4U);
  EXPECT_EQ(after.copied_bytes - before.copied_bytes, 3U * 3U * 4U * TinyTransformer::kFf * 4U);
  // A wait for the host before each device split and for the device after it, and one at the end.
  EXPECT_EQ(after.waits - before.waits, 3U * 2U + 1U);
}

TEST(Devices, captures_are_replayed_by_uid_and_go_with_the_graph) {
  PlanRigOptions options{.tiny = kTiny, .with_device = true, .kv_on_device = true};
  options.cache.max_graphs = 2;
  PlanRig rig(options);
  const auto id = rig.open();
  const auto tokens = random_tokens(40, 7);
  rig.run_all(id, {tokens.data(), 6}, 2);
  EXPECT_EQ(rig.device->counters().captures, 1U);
  EXPECT_EQ(rig.device->counters().replays, 2U);
  EXPECT_EQ(rig.device->captured_uids(), (std::set<std::uint64_t>{1}));
  rig.run_all(id, {tokens.data(), 3}, 3);
  rig.run_all(id, {tokens.data(), 4}, 4);
  EXPECT_EQ(rig.device->captured_uids(), (std::set<std::uint64_t>{2, 3}));
  rig.run_all(id, {tokens.data(), 2}, 2);
  EXPECT_EQ(rig.device->captured_uids(), (std::set<std::uint64_t>{3, 4}));
}

TEST(Devices, the_arena_may_move_between_replays) {
  const auto tokens = random_tokens(100, 8);
  PlanRig rig({.tiny = kTiny, .with_device = true, .kv_on_device = true});
  const auto id = rig.open();
  auto logits = rig.run_all(id, {tokens.data(), 3}, 1);
  const auto large = rig.run_all(id, {tokens.data() + 3, 90}, 90);  // grows the arenas
  const auto rest = rig.run_all(id, {tokens.data() + 93, 7}, 1);    // replays uid 1
  logits.insert(logits.end(), large.begin(), large.end());
  logits.insert(logits.end(), rest.begin(), rest.end());
  EXPECT_EQ(logits, host_alone(tokens, 100));
}

TEST(Devices, cancelled_and_failed_steps_leave_no_trace) {
  const auto tokens = random_tokens(40, 9);
  const auto expected = host_alone(tokens, 40);
  for (const bool kv_on_device : {false, true}) {
    PlanRig rig({.tiny = kTiny, .with_device = true, .kv_on_device = kv_on_device});
    const auto id = rig.open();
    std::vector<float> logits;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto rows = rig.rows(id, {tokens.data() + i, 1});
      rig.device->fail_next(internal_error("the device fell over"));
      const auto failed = rig.run(rows);
      ASSERT_FALSE(failed.ok());
      EXPECT_EQ(failed.status().message(), "the device fell over");
      rig.forward->request_cancel();
      EXPECT_EQ(rig.run(rows).status().code(), StatusCode::kCancelled);
      rig.forward->clear_cancel();
      EXPECT_EQ(rig.kv().length(id), static_cast<std::int32_t>(i));
      const auto one = rig.run(rows).value();
      logits.insert(logits.end(), one.begin(), one.end());
    }
    EXPECT_EQ(logits, expected);
  }
}

TEST(Devices, cancel_from_another_thread) {
  const auto tokens = random_tokens(60, 10);
  const auto expected = host_alone(tokens, 60);
  PlanRig rig({.tiny = kTiny, .with_device = true});
  const auto id = rig.open();
  std::vector<float> logits;
  std::mt19937 random(5);
  int cancelled_steps = 0;
  for (std::size_t i = 0; i < tokens.size();) {
    const auto rows = rig.rows(id, {tokens.data() + i, 1});
    std::thread canceller([&, wait = random() % 2000] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait));
      rig.forward->request_cancel();
    });
    const auto result = rig.run(rows);
    canceller.join();
    rig.forward->clear_cancel();
    if (!result.ok()) {
      ASSERT_EQ(result.status().code(), StatusCode::kCancelled);
      ++cancelled_steps;
      if (cancelled_steps % 3 != 0) continue;
    }
    const auto one = result.ok() ? result.value() : rig.run(rows).value();
    logits.insert(logits.end(), one.begin(), one.end());
    ++i;
  }
  EXPECT_EQ(logits, expected);
}

TEST(Devices, forks_and_batches_on_the_device) {
  const auto tokens = random_tokens(70, 11);
  const auto more = random_tokens(10, 12);
  PlanRig alone({.tiny = {.windows = {0, 40}}});
  const auto s = alone.open();
  alone.run_all(s, tokens, 70);
  const auto expected = alone.run_all(s, more, 10);
  PlanRig rig({.tiny = {.windows = {0, 40}}, .with_device = true, .kv_on_device = true});
  const auto a = rig.open();
  rig.run_all(a, tokens, 70);
  const auto b = rig.kv().fork(a, 70).value();
  auto batch = rig.rows(a, random_tokens(10, 13), true);
  const auto rows = rig.rows(b, more, true);
  batch.insert(batch.end(), rows.begin(), rows.end());
  const auto logits = rig.run(batch).value();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), logits.begin() + 10 * kVocab));
}

}  // namespace
}  // namespace minfer::tests
