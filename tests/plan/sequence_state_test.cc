#include "plan/sequence_state.h"

#include <gtest/gtest.h>

#include "tests/support/poison_backend.h"
#include "tests/support/reference_backend.h"

namespace minfer::tests {
namespace {

plan::SequenceState make(backend::Backend& backend, std::int32_t max_checkpoints) {
  return plan::SequenceState::create(backend, 8, 2, max_checkpoints).value();
}

void put(plan::SequenceState& state, std::int32_t sequence, std::int64_t value) {
  *reinterpret_cast<std::int64_t*>(state.write_lane(sequence)) = value;
  state.commit(sequence);
}

std::int64_t get(plan::SequenceState& state, std::int32_t sequence) {
  return *reinterpret_cast<std::int64_t*>(state.read_lane(sequence));
}

TEST(SequenceState, commit_swaps_and_no_commit_changes_nothing) {
  ReferenceBackend host;
  auto state = make(host, 0);
  ASSERT_TRUE(state.reset(0).ok());
  EXPECT_EQ(get(state, 0), 0);
  *reinterpret_cast<std::int64_t*>(state.write_lane(0)) = 5;
  EXPECT_EQ(get(state, 0), 0);
  state.commit(0);
  EXPECT_EQ(get(state, 0), 5);
  put(state, 0, 6);
  EXPECT_EQ(get(state, 0), 6);
  EXPECT_NE(state.read_lane(0), state.write_lane(0));
}

TEST(SequenceState, checkpoints_make_room_for_newer_ones) {
  ReferenceBackend host;
  auto state = make(host, 2);
  ASSERT_TRUE(state.reset(1).ok());
  for (std::int32_t position : {3, 7, 9}) {
    put(state, 1, position * 10);
    ASSERT_TRUE(state.checkpoint(1, position).ok());
  }
  EXPECT_EQ(state.nearest(1, 6), 0);
  EXPECT_EQ(state.nearest(1, 7), 7);
  EXPECT_EQ(state.nearest(1, 8), 7);
  EXPECT_EQ(state.nearest(1, 100), 9);
  ASSERT_TRUE(state.restore(1, 7).ok());
  EXPECT_EQ(get(state, 1), 70);
  EXPECT_EQ(state.nearest(1, 100), 7);
  ASSERT_TRUE(state.restore(1, 0).ok());
  EXPECT_EQ(get(state, 1), 0);
  EXPECT_EQ(state.nearest(1, 100), 0);
  EXPECT_EQ(state.nearest(0, 100), 0);
}

TEST(SequenceState, none_are_kept_where_there_is_no_room) {
  ReferenceBackend host;
  auto state = make(host, 0);
  EXPECT_EQ(state.checkpoint(0, 5).code(), StatusCode::kInvalidArgument);
  auto nothing = plan::SequenceState::create(host, 0, 2, 0).value();
  EXPECT_TRUE(nothing.empty());
  EXPECT_TRUE(nothing.checkpoint(0, 5).ok());
}

}  // namespace
}  // namespace minfer::tests
