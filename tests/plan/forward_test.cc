// Forward on the reference backend: what a batch, a chunk and a rebuild must not change.
#include "plan/forward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/plan/rig.h"

namespace minfer::tests {
namespace {

constexpr std::size_t kVocab = TinyTransformer::kVocab;

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

std::vector<float> row_of(std::span<const float> logits, std::size_t row) {
  const auto part = logits.subspan(row * kVocab, kVocab);
  return {part.begin(), part.end()};
}

TEST(Plan, chunks_do_not_change_a_bit) {
  for (const auto& windows : {std::vector<std::int32_t>{0, 0}, {40, 0, 40}}) {
    for (const bool recurrent : {false, true}) {
      const auto tokens = random_tokens(150, 3);
      std::vector<float> whole;
      for (const std::size_t chunk : {128U, 1U, 7U, 64U}) {
        PlanRig rig({.tiny = {.windows = windows, .recurrent = recurrent}});
        const std::vector<float> logits = rig.run_all(rig.open(), tokens, chunk);
        ASSERT_TRUE(all_finite(logits));
        if (whole.empty()) whole = logits;
        EXPECT_EQ(logits, whole) << "chunk " << chunk;
      }
    }
  }
}

TEST(Plan, tail_reduction_matches_full) {
  const auto tokens = random_tokens(20, 4);
  PlanRig full;
  const auto all = full.run(full.rows(full.open(), tokens, true)).value();
  PlanRig tail;
  const auto last = tail.run(tail.rows(tail.open(), tokens)).value();
  EXPECT_EQ(last, row_of(all, 19));

  PlanRig some;
  auto rows = some.rows(some.open(), tokens);
  for (auto& row : rows) row.wants_output = row.position == 3 || row.position == 11;
  const auto two = some.run(rows).value();
  EXPECT_EQ(row_of(two, 0), row_of(all, 3));
  EXPECT_EQ(row_of(two, 1), row_of(all, 11));

  // Nearly all rows: the capacity is that of all, and the rows are picked afterwards.
  PlanRig nearly;
  rows = nearly.rows(nearly.open(), tokens, true);
  rows[7].wants_output = false;
  const auto picked = nearly.run(rows).value();
  ASSERT_EQ(picked.size(), 19 * kVocab);
  EXPECT_EQ(row_of(picked, 6), row_of(all, 6));
  EXPECT_EQ(row_of(picked, 7), row_of(all, 8));
  EXPECT_EQ(row_of(picked, 18), row_of(all, 19));

  // A chunk without outputs leaves the same KV.
  PlanRig none;
  const auto sequence = none.open();
  rows = none.rows(sequence, {tokens.data(), 19});
  for (auto& row : rows) row.wants_output = false;
  EXPECT_TRUE(none.run(rows).value().empty());
  EXPECT_EQ(none.run(none.rows(sequence, {tokens.data() + 19, 1})).value(), row_of(all, 19));
}

TEST(Plan, hidden_rows_have_no_head) {
  PlanRig rig;
  plan::GraphParams params = rig.forward->options().base_params;
  params.n_tokens = 2;
  params.n_out = 2;
  params.output = plan::OutputKind::kHidden;
  plan::CompiledGraph* graph = rig.forward->cache().find_or_build(params).value();
  const ir::Value& value = graph->graph.value(graph->graph.outputs()[0]);
  EXPECT_EQ(value.shape.inner(), TinyTransformer::kEmbd);
}

TEST(Plan, batch_does_not_change_a_bit) {
  const auto a = random_tokens(70, 5);
  const auto b = random_tokens(9, 6);
  const auto c = random_tokens(33, 7);
  std::vector<std::vector<float>> alone;
  for (const auto& tokens : {a, b, c}) {
    PlanRig rig({.tiny = {.windows = {0, 20}, .recurrent = true}});
    alone.push_back(rig.run_all(rig.open(), tokens, 100));
  }
  for (const bool reversed : {false, true}) {
    PlanRig rig({.tiny = {.windows = {0, 20}, .recurrent = true}});
    const plan::SequenceId ids[] = {rig.open(), rig.open(), rig.open()};
    auto batch = rig.rows(ids[reversed ? 2 : 0], reversed ? c : a, true);
    for (const auto& more :
         {rig.rows(ids[1], b, true), rig.rows(ids[reversed ? 0 : 2], reversed ? a : c, true)}) {
      batch.insert(batch.end(), more.begin(), more.end());
    }
    const auto logits = rig.run(batch).value();
    const std::size_t first = reversed ? 33 : 70;
    EXPECT_EQ(row_of(logits, first - 1), row_of(alone[reversed ? 2 : 0], first - 1));
    EXPECT_EQ(row_of(logits, first + 8), row_of(alone[1], 8));
    EXPECT_EQ(row_of(logits, 111), row_of(alone[reversed ? 0 : 2], (reversed ? 70 : 33) - 1));
  }
}

TEST(Plan, interleaved_rows_of_two_sequences) {
  const auto a = random_tokens(6, 8);
  const auto b = random_tokens(6, 9);
  PlanRig alone;
  const auto expected = alone.run_all(alone.open(), b, 6);
  PlanRig rig({.tiny = {.recurrent = false}});
  const auto ra = rig.rows(rig.open(), a, true);
  const auto rb = rig.rows(rig.open(), b, true);
  std::vector<plan::Row> batch;
  for (std::size_t i = 0; i < 6; ++i) {
    batch.push_back(rb[i]);
    batch.push_back(ra[i]);
  }
  const auto logits = rig.run(batch).value();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(row_of(logits, 2 * i), row_of(expected, i));
}

TEST(Plan, sequence_count_is_data_not_topology) {
  PlanRig rig;
  const auto a = rig.open();
  const auto b = rig.open();
  const auto tokens = random_tokens(4, 10);
  ASSERT_TRUE(rig.run(rig.rows(a, {tokens.data(), 2}, true)).ok());
  auto both = rig.rows(a, {tokens.data(), 1});
  both.push_back(rig.rows(b, {tokens.data() + 1, 1})[0]);
  ASSERT_TRUE(rig.run(both).ok());
  EXPECT_EQ(rig.stats().built, 1U);
  EXPECT_EQ(rig.stats().reused, 1U);
  EXPECT_EQ(rig.forward->compiled(2, 2).value()->uid, 1U);
}

TEST(Plan, position_past_n_ctx_is_refused) {
  PlanRig rig({.tiny = {.n_ctx = 10}});
  const auto id = rig.open();
  const auto tokens = random_tokens(11, 11);
  const auto refused = rig.run(rig.rows(id, tokens));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(refused.status().message(), "row 10: position 10 is past the context of 10 positions");
  EXPECT_EQ(rig.kv().length(id), 0);
  EXPECT_EQ(rig.kv().usage().pages_used, 0);
  EXPECT_EQ(rig.stats().built, 0U);

  ASSERT_TRUE(rig.run(rig.rows(id, {tokens.data(), 10})).ok());
  EXPECT_EQ(rig.run(rig.rows(id, {tokens.data(), 1})).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(rig.kv().prepare_rows(id, 1).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(rig.kv().length(id), 10);
}

TEST(Plan, rows_that_cannot_be_run_are_refused_and_change_nothing) {
  PlanRig rig({.max_batch = 8});
  const auto id = rig.open();
  const auto refuse = [&](const std::vector<plan::Row>& rows, StatusCode code) {
    const auto result = rig.run(rows);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), code) << result.status().message();
  };
  refuse({}, StatusCode::kInvalidArgument);
  refuse(rig.rows(id, random_tokens(9, 1)), StatusCode::kInvalidArgument);
  refuse({{.token = 1, .position = 1, .sequence = id}}, StatusCode::kOutOfRange);
  refuse({{.token = 1, .position = -1, .sequence = id}}, StatusCode::kOutOfRange);
  refuse({{.token = 37, .position = 0, .sequence = id}}, StatusCode::kOutOfRange);
  refuse({{.token = -1, .position = 0, .sequence = id}}, StatusCode::kOutOfRange);
  refuse({{.token = 1, .position = 0, .sequence = 3}}, StatusCode::kInvalidArgument);
  refuse({{.token = 1, .position = 0, .sequence = -1}}, StatusCode::kInvalidArgument);
  refuse({{.token = 1, .position = 0, .sequence = id}, {.token = 1, .position = 0, .sequence = id}},
         StatusCode::kOutOfRange);
  EXPECT_EQ(rig.kv().length(id), 0);
  EXPECT_EQ(rig.stats().built, 0U);
  // A refused call leaves nothing behind for the next.
  EXPECT_TRUE(rig.run(rig.rows(id, random_tokens(3, 1))).ok());
}

TEST(Plan, no_page_for_one_sequence_prepares_none) {
  PlanRigOptions options;
  options.kv = {.max_sequences = 3, .pages_per_group = 3, .poison = true};
  PlanRig rig(options);
  const auto a = rig.open();
  const auto b = rig.open();
  ASSERT_TRUE(rig.run(rig.rows(a, random_tokens(64, 1))).ok());
  auto batch = rig.rows(a, random_tokens(1, 2));
  const auto more = rig.rows(b, random_tokens(120, 3));
  batch.insert(batch.end(), more.begin(), more.end());
  const auto result = rig.run(batch);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(rig.kv().usage().pages_used, 1);
  EXPECT_EQ(rig.kv().length(a), 64);
  EXPECT_EQ(rig.kv().length(b), 0);
}

TEST(Plan, stale_rows_past_the_cursor_are_never_read) {
  const auto tokens = random_tokens(140, 12);
  const auto tail = random_tokens(30, 13);
  PlanRig clean;
  const auto s = clean.open();
  clean.run_all(s, {tokens.data(), 90}, 64);
  const auto expected = clean.run_all(s, tail, 30);

  // The same after 50 rows that were rolled back, with what is past the cursor made NaN.
  PlanRig rig;
  const auto id = rig.open();
  rig.run_all(id, tokens, 64);
  ASSERT_TRUE(rig.kv().truncate(id, 90).ok());
  const auto& geometry = rig.kv().geometry();
  const auto page = rig.kv().pages(id, 0)[1];
  auto* bytes = const_cast<std::byte*>(rig.kv().group_data(0));
  for (std::size_t layer = 0; layer < geometry.layers.size(); ++layer) {
    const std::size_t row = 2 * TinyTransformer::kHeadsKv * TinyTransformer::kHeadDim * 4;
    ASSERT_EQ(64 * row, geometry.layers[layer].strips.bytes());
    std::byte* rows = bytes + geometry.strip_offset(geometry.layers[layer], 0, page);
    std::fill(rows + 26 * row, rows + 64 * row, std::byte{0xFF});
  }
  EXPECT_EQ(rig.kv().length(id), 90);
  EXPECT_EQ(rig.run_all(id, tail, 30), expected);
}

TEST(Plan, forward_cached_isolates_kv_between_caches) {
  const auto tokens = random_tokens(40, 14);
  const auto other = random_tokens(40, 15);
  PlanRig alone;
  const auto expected = alone.run_all(alone.open(), tokens, 1);
  PlanRig a;
  PlanRig b;
  const auto sa = a.open();
  const auto sb = b.open();
  std::vector<float> logits;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto one = a.run_all(sa, {tokens.data() + i, 1}, 1);
    b.run_all(sb, {other.data() + i, 1}, 1);
    logits.insert(logits.end(), one.begin(), one.end());
  }
  EXPECT_EQ(logits, expected);
  EXPECT_EQ(a.stats().built, 1U);
  EXPECT_EQ(b.stats().built, 1U);
}

TEST(Plan, allocator_survives_rebuild) {
  // A later graph needs a larger arena; what the KV holds stays.
  const auto tokens = random_tokens(120, 16);
  PlanRig whole;
  const auto expected = whole.run_all(whole.open(), tokens, 120);
  PlanRig rig;
  const auto id = rig.open();
  auto logits = rig.run_all(id, {tokens.data(), 2}, 1);
  const std::uint64_t small = rig.forward->cache().arena(0).size_bytes();
  const auto rest = rig.run_all(id, {tokens.data() + 2, 118}, 118);
  logits.insert(logits.end(), rest.begin(), rest.end());
  EXPECT_GT(rig.forward->cache().arena(0).size_bytes(), small);
  EXPECT_EQ(rig.stats().built, 2U);
  EXPECT_EQ(logits, expected);
}

TEST(Plan, cancelled_step_leaves_no_trace) {
  for (const bool recurrent : {false, true}) {
    const auto tokens = random_tokens(100, 17);
    PlanRig clean({.tiny = {.recurrent = recurrent}});
    const auto s = clean.open();
    clean.run_all(s, {tokens.data(), 60}, 60);
    const auto expected = clean.run_all(s, {tokens.data() + 60, 40}, 40);

    PlanRig rig({.tiny = {.recurrent = recurrent}});
    const auto id = rig.open();
    rig.run_all(id, {tokens.data(), 60}, 60);
    const auto used = rig.kv().usage().pages_used;
    const auto rows = rig.rows(id, {tokens.data() + 60, 40}, true);
    const std::size_t n_nodes = rig.forward->compiled(40, 40).value()->graph.nodes().size();
    for (std::size_t stop = 0; stop < n_nodes; ++stop) {
      std::size_t count = 0;
      rig.host.before_node = [&](const ir::Node&) {
        if (count++ == stop) rig.forward->request_cancel();
      };
      const auto result = rig.run(rows);
      // The flag that the last node's start raises is seen by nobody any more.
      if (stop + 1 == n_nodes) break;
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
      EXPECT_EQ(rig.kv().length(id), 60);
      EXPECT_EQ(rig.kv().usage().pages_used, used);
      rig.forward->clear_cancel();
    }
    rig.host.before_node = nullptr;
    rig.forward->clear_cancel();
    // The step that nobody stopped has moved the cursor.
    ASSERT_EQ(rig.kv().length(id), 100);
    if (recurrent) continue;
    ASSERT_TRUE(rig.kv().truncate(id, 60).ok());
    EXPECT_EQ(rig.run(rows).value(), expected);
  }
}

TEST(Plan, cancelled_before_it_starts) {
  PlanRig rig;
  const auto id = rig.open();
  rig.forward->request_cancel();
  EXPECT_EQ(rig.run(rig.rows(id, random_tokens(3, 1))).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(rig.run(rig.rows(id, random_tokens(3, 1))).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(rig.kv().length(id), 0);
  rig.forward->clear_cancel();
  EXPECT_TRUE(rig.run(rig.rows(id, random_tokens(3, 1))).ok());
}

TEST(Plan, failed_step_leaves_the_recurrent_state) {
  const auto tokens = random_tokens(30, 18);
  const TinyOptions tiny{.recurrent = true};
  PlanRig clean({.tiny = tiny});
  const auto expected = clean.run_all(clean.open(), tokens, 1);
  PlanRig rig({.tiny = tiny});
  const auto id = rig.open();
  std::vector<float> logits;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto rows = rig.rows(id, {tokens.data() + i, 1});
    std::size_t count = 0;
    rig.host.before_node = [&](const ir::Node&) {
      if (++count == 20) rig.forward->request_cancel();
    };
    EXPECT_EQ(rig.run(rows).status().code(), StatusCode::kCancelled);
    rig.host.before_node = nullptr;
    rig.forward->clear_cancel();
    const auto one = rig.run(rows).value();
    logits.insert(logits.end(), one.begin(), one.end());
  }
  EXPECT_EQ(logits, expected);
}

TEST(Plan, shared_page_is_never_written) {
  const auto tokens = random_tokens(100, 19);
  const auto left = random_tokens(20, 20);
  const auto right = random_tokens(20, 21);
  const auto continued = [&](const std::vector<std::int32_t>& more) {
    PlanRig rig;
    const auto id = rig.open();
    rig.run_all(id, tokens, 100);
    return rig.run_all(id, more, 20);
  };
  PlanRig rig;
  const auto a = rig.open();
  rig.run_all(a, tokens, 100);
  const auto b = rig.kv().fork(a, 100).value();
  ASSERT_EQ(rig.kv().pages(b, 0)[1], rig.kv().pages(a, 0)[1]);
  const auto shared = rig.kv().pages(a, 0)[1];
  const auto& geometry = rig.kv().geometry();
  const auto contents = [&](std::int32_t page) {
    std::vector<std::byte> bytes;
    for (const auto& layer : geometry.layers) {
      const std::byte* strip = rig.kv().group_data(0) + geometry.strip_offset(layer, 0, page);
      bytes.insert(bytes.end(), strip, strip + layer.strips.strip_bytes);
    }
    return bytes;
  };
  const std::vector<std::byte> before = contents(shared);

  EXPECT_EQ(rig.run_all(b, left, 20), continued(left));
  EXPECT_EQ(before, contents(shared)) << "a shared page was written";
  EXPECT_NE(rig.kv().pages(b, 0)[1], shared);
  EXPECT_EQ(rig.kv().pages(b, 0)[0], rig.kv().pages(a, 0)[0]);
  EXPECT_EQ(rig.kv().page_refs(0, shared), 1);
  // Now that it has one owner it is written in place.
  EXPECT_EQ(rig.run_all(a, right, 20), continued(right));
  EXPECT_EQ(rig.kv().pages(a, 0)[1], shared);
}

TEST(Plan, fork_in_the_middle_of_a_page) {
  const auto tokens = random_tokens(100, 22);
  const auto more = random_tokens(50, 23);
  for (const std::int32_t at : {0, 1, 37, 63, 64, 65, 99}) {
    PlanRig rig;
    const auto a = rig.open();
    rig.run_all(a, tokens, 100);
    const auto b = rig.kv().fork(a, at).value();
    ASSERT_EQ(rig.kv().length(b), at);
    PlanRig fresh;
    const auto s = fresh.open();
    if (at > 0) fresh.run_all(s, {tokens.data(), static_cast<std::size_t>(at)}, 100);
    EXPECT_EQ(rig.run_all(b, more, 50), fresh.run_all(s, more, 50)) << at;
    // The one that was forked from goes on as if nothing had happened.
    PlanRig whole;
    const auto w = whole.open();
    whole.run_all(w, tokens, 100);
    EXPECT_EQ(rig.run_all(a, more, 50), whole.run_all(w, more, 50)) << at;
  }
}

TEST(Plan, pages_given_back_do_not_change_a_bit) {
  const auto tokens = random_tokens(280, 24);
  const TinyOptions tiny{.windows = {70, 0}};
  PlanRig plain({.tiny = tiny});
  const auto expected = plain.run_all(plain.open(), tokens, 13);
  PlanRig rig({.tiny = tiny});
  const auto id = rig.open();
  std::vector<float> logits;
  for (std::size_t at = 0; at < tokens.size(); at += 13) {
    const std::size_t n = std::min<std::size_t>(13, tokens.size() - at);
    const auto part = rig.run_all(id, {tokens.data() + at, n}, 13);
    logits.insert(logits.end(), part.begin(), part.end());
    rig.kv().evict_outside_window(id);
  }
  EXPECT_EQ(logits, expected);
  EXPECT_EQ(rig.kv().pages(id, 0)[0], -1);
  EXPECT_EQ(rig.kv().pages(id, 0)[2], -1);
  EXPECT_GE(rig.kv().pages(id, 0)[3], 0);
  EXPECT_GE(rig.kv().pages(id, 1)[0], 0);
  EXPECT_EQ(rig.kv().usage().pages_used, 2 + 5);
}

TEST(Plan, recurrent_rollback_replays_from_a_checkpoint) {
  const auto tokens = random_tokens(60, 25);
  const auto more = random_tokens(10, 26);
  for (const bool scan_only : {true, false}) {
    PlanRigOptions options;
    options.tiny = {.recurrent = true, .scan_only = scan_only};
    options.kv.max_checkpoints = 2;
    PlanRig rig(options);
    const auto id = rig.open();
    rig.run_all(id, {tokens.data(), 20}, 7);
    ASSERT_TRUE(rig.kv().checkpoint(id).ok());
    rig.run_all(id, {tokens.data() + 20, 25}, 25);
    ASSERT_TRUE(rig.kv().checkpoint(id).ok());
    rig.run_all(id, {tokens.data() + 45, 15}, 4);

    const auto expected = [&](std::size_t n) {
      PlanRig fresh(options);
      const auto s = fresh.open();
      fresh.run_all(s, {tokens.data(), n}, 100);
      return fresh.run_all(s, more, 10);
    };
    // Between checkpoints: the caller replays from the nearest one.
    ASSERT_TRUE(rig.kv().truncate(id, 50).ok());
    ASSERT_EQ(rig.kv().length(id), 45);
    rig.run_all(id, {tokens.data() + 45, 5}, 5);
    EXPECT_EQ(rig.run_all(id, more, 10), expected(50));
    // A fork at a checkpoint, then the first one, then the very start.
    const auto fork = rig.kv().fork(id, 46).value();
    ASSERT_EQ(rig.kv().length(fork), 45);
    EXPECT_EQ(rig.run_all(fork, more, 10), expected(45));
    ASSERT_TRUE(rig.kv().truncate(id, 44).ok());
    ASSERT_EQ(rig.kv().length(id), 20);
    EXPECT_EQ(rig.run_all(id, more, 10), expected(20));
    ASSERT_TRUE(rig.kv().truncate(id, 19).ok());
    ASSERT_EQ(rig.kv().length(id), 0);
    rig.run_all(id, {tokens.data(), 19}, 19);
    EXPECT_EQ(rig.run_all(id, more, 10), expected(19));
  }
}

TEST(Plan, kv_formats_round_alike_in_prefill_and_decode) {
  const auto tokens = random_tokens(80, 27);
  PlanRig whole({.format = backend::KvFormat::kF16});
  PlanRig single({.format = backend::KvFormat::kF16});
  PlanRig wide({.format = backend::KvFormat::kF32});
  const auto logits = whole.run_all(whole.open(), tokens, 80);
  EXPECT_EQ(single.run_all(single.open(), tokens, 1), logits);
  EXPECT_NE(wide.run_all(wide.open(), tokens, 80), logits);
}

}  // namespace
}  // namespace minfer::tests
