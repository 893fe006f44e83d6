#include "plan/sequence_state.h"

#include <algorithm>

#include "base/bytes.h"
#include "plan/page_pool.h"

namespace minfer::plan {
namespace {

constexpr std::uint64_t kLaneAlignment = 64;
constexpr std::size_t kFirstCheckpointLane = 2;

}  // namespace

Result<SequenceState> SequenceState::create(backend::Backend& backend, std::uint64_t state_bytes,
                                            std::int32_t max_sequences,
                                            std::int32_t max_checkpoints) {
  SequenceState state;
  state.backend_ = &backend;
  state.state_bytes_ = state_bytes;
  state.sequences_.resize(static_cast<std::size_t>(max_sequences));
  if (state_bytes == 0) return state;

  state.lanes_per_sequence_ = kFirstCheckpointLane + static_cast<std::size_t>(max_checkpoints);
  const auto lane_bytes = checked_align_up(state_bytes, kLaneAlignment);
  const auto total = checked_mul<std::uint64_t>(
      lane_bytes.value_or(UINT64_MAX),
      state.lanes_per_sequence_ * static_cast<std::uint64_t>(max_sequences));
  if (!total) return out_of_memory("the state of the sequences would be larger than any memory");
  state.lane_bytes_ = *lane_bytes;
  MINFER_ASSIGN_OR_RETURN(state.buffer_, backend.allocate(*total));
  for (Lanes& lanes : state.sequences_) {
    lanes.positions.assign(static_cast<std::size_t>(max_checkpoints), kFree);
  }
  return state;
}

std::uint64_t SequenceState::lane_offset(std::int32_t sequence, std::size_t lane) const {
  return (static_cast<std::uint64_t>(sequence) * lanes_per_sequence_ + lane) * lane_bytes_;
}

std::uint64_t SequenceState::present_offset(std::int32_t sequence) const {
  return lane_offset(sequence, sequences_[static_cast<std::size_t>(sequence)].swapped ? 1 : 0);
}

std::byte* SequenceState::read_lane(std::int32_t sequence) {
  return buffer_->device_data() + present_offset(sequence);
}

std::byte* SequenceState::write_lane(std::int32_t sequence) {
  const bool swapped = sequences_[static_cast<std::size_t>(sequence)].swapped;
  return buffer_->device_data() + lane_offset(sequence, swapped ? 0 : 1);
}

Status SequenceState::reset(std::int32_t sequence) {
  if (empty()) return ok_status();
  Lanes& lanes = sequences_[static_cast<std::size_t>(sequence)];
  lanes.swapped = false;
  std::fill(lanes.positions.begin(), lanes.positions.end(), kFree);
  return fill(*backend_, *buffer_, present_offset(sequence), state_bytes_, std::byte{0}, scratch_);
}

void SequenceState::commit(std::int32_t sequence) {
  if (empty()) return;
  bool& swapped = sequences_[static_cast<std::size_t>(sequence)].swapped;
  swapped = !swapped;
}

Status SequenceState::checkpoint(std::int32_t sequence, std::int32_t position) {
  if (empty() || position == 0) return ok_status();
  std::vector<std::int32_t>& positions = sequences_[static_cast<std::size_t>(sequence)].positions;
  if (positions.empty()) return invalid_argument("this store keeps no checkpoints");
  auto slot = std::find(positions.begin(), positions.end(), position);
  // kFree is below every position, so the least is a free slot or else the oldest checkpoint.
  if (slot == positions.end()) slot = std::min_element(positions.begin(), positions.end());
  const auto lane = kFirstCheckpointLane + static_cast<std::size_t>(slot - positions.begin());
  MINFER_RETURN_IF_ERROR(copy_within(*backend_, *buffer_, present_offset(sequence),
                                     lane_offset(sequence, lane), state_bytes_, scratch_));
  *slot = position;
  return ok_status();
}

std::int32_t SequenceState::nearest(std::int32_t sequence, std::int32_t limit) const {
  std::int32_t best = 0;
  for (std::int32_t position : sequences_[static_cast<std::size_t>(sequence)].positions) {
    if (position <= limit) best = std::max(best, position);
  }
  return best;
}

std::size_t SequenceState::find(std::int32_t sequence, std::int32_t position) const {
  const auto& positions = sequences_[static_cast<std::size_t>(sequence)].positions;
  const auto slot = std::find(positions.begin(), positions.end(), position);
  MINFER_CHECK(slot != positions.end());
  return kFirstCheckpointLane + static_cast<std::size_t>(slot - positions.begin());
}

Status SequenceState::load(std::int32_t from, std::int32_t position, std::int32_t to) {
  if (position == 0) {
    return fill(*backend_, *buffer_, present_offset(to), state_bytes_, std::byte{0}, scratch_);
  }
  return copy_within(*backend_, *buffer_, lane_offset(from, find(from, position)),
                     present_offset(to), state_bytes_, scratch_);
}

Status SequenceState::restore(std::int32_t sequence, std::int32_t position) {
  if (empty()) return ok_status();
  MINFER_RETURN_IF_ERROR(load(sequence, position, sequence));
  for (std::int32_t& kept : sequences_[static_cast<std::size_t>(sequence)].positions) {
    if (kept > position) kept = kFree;
  }
  return ok_status();
}

Status SequenceState::copy_present(std::int32_t from, std::int32_t to) {
  if (empty()) return ok_status();
  return copy_within(*backend_, *buffer_, present_offset(from), present_offset(to), state_bytes_,
                     scratch_);
}

Status SequenceState::copy_checkpoint(std::int32_t from, std::int32_t position, std::int32_t to) {
  if (empty()) return ok_status();
  return load(from, position, to);
}

}  // namespace minfer::plan
