// SequenceState: the fixed-size state of recurrent layers, for every sequence of a store.
//
// Owns: one buffer of lanes. A sequence has two lanes, the present state and the one that a forward
// writes, and some more for checkpoints.
// Invariants: a forward changes the next lane alone; commit() swaps. Position 0 is always a
// checkpoint: the state of zeros.
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"

namespace minfer::plan {

class SequenceState {
 public:
  /// Room for `max_sequences`, each with `max_checkpoints`. state_bytes 0: nothing is kept and
  /// every call is a no-op.
  static Result<SequenceState> create(backend::Backend& backend, std::uint64_t state_bytes,
                                      std::int32_t max_sequences, std::int32_t max_checkpoints);

  [[nodiscard]] bool empty() const { return state_bytes_ == 0; }
  [[nodiscard]] std::uint64_t bytes() const { return buffer_ ? buffer_->size_bytes() : 0; }
  [[nodiscard]] std::byte* read_lane(std::int32_t sequence);
  [[nodiscard]] std::byte* write_lane(std::int32_t sequence);

  /// Zeros, no checkpoints.
  Status reset(std::int32_t sequence);
  void commit(std::int32_t sequence);
  /// Saves the present state as that of `position`; the oldest checkpoint makes room.
  Status checkpoint(std::int32_t sequence, std::int32_t position);
  /// The greatest position <= `limit` whose state is kept: a checkpoint or 0.
  [[nodiscard]] std::int32_t nearest(std::int32_t sequence, std::int32_t limit) const;
  /// Makes the state kept for `position` (see nearest) the present one and forgets later ones.
  Status restore(std::int32_t sequence, std::int32_t position);
  /// Makes the present state of `from`, or its checkpoint at `position`, that of `to`.
  Status copy_present(std::int32_t from, std::int32_t to);
  Status copy_checkpoint(std::int32_t from, std::int32_t position, std::int32_t to);

 private:
  static constexpr std::int32_t kFree = -1;
  struct Lanes {
    bool swapped = false;
    std::vector<std::int32_t> positions;  // by checkpoint; kFree: unused
  };

  [[nodiscard]] std::uint64_t lane_offset(std::int32_t sequence, std::size_t lane) const;
  [[nodiscard]] std::uint64_t present_offset(std::int32_t sequence) const;
  [[nodiscard]] std::size_t find(std::int32_t sequence, std::int32_t position) const;
  Status load(std::int32_t from, std::int32_t position, std::int32_t to);

  backend::Backend* backend_ = nullptr;
  std::unique_ptr<backend::Buffer> buffer_;
  std::uint64_t state_bytes_ = 0;
  std::uint64_t lane_bytes_ = 0;
  std::size_t lanes_per_sequence_ = 0;
  std::vector<Lanes> sequences_;
  std::vector<std::byte> scratch_;
};

}  // namespace minfer::plan
