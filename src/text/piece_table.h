// PieceTable: from the bytes of a piece to its token id.
//
// Owns: one open-addressing table of 8-byte slots; the pieces themselves stay where they are (in
// the mapped file).
// Invariants: at most half full; a lookup inspects at most kMaxProbes slots, so that a file made of
// colliding pieces can't make it slow.
// Thread-safety: immutable after build().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace minfer::text {

/// The hash that PieceTable and MergeTable share.
std::uint64_t hash_bytes(std::string_view bytes);

class PieceTable {
 public:
  static constexpr std::uint32_t kMaxProbes = 1024;

  /// Indexes `pieces`, whose characters and array must outlive the table. Of equal pieces the
  /// lowest id is found. kCorrupt where too many pieces share a hash.
  static Result<PieceTable> build(std::span<const std::string_view> pieces);

  /// The id of `piece`, or -1.
  [[nodiscard]] std::int32_t find(std::string_view piece) const {
    return find(piece, hash_bytes(piece));
  }
  /// The same with hash == hash_bytes(piece) at hand.
  [[nodiscard]] std::int32_t find(std::string_view piece, std::uint64_t hash) const;

  [[nodiscard]] std::size_t n_duplicates() const { return n_duplicates_; }
  /// An id whose piece has a lower id already, or -1.
  [[nodiscard]] std::int32_t first_duplicate() const { return first_duplicate_; }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = -1;
  };

  std::span<const std::string_view> pieces_;
  std::vector<Slot> slots_;
  std::uint64_t mask_ = 0;
  std::size_t n_duplicates_ = 0;
  std::int32_t first_duplicate_ = -1;
};

}  // namespace minfer::text
