// MergeTable: the rank of a BPE merge, found by the two neighbours' text.
//
// Two neighbours lie side by side in the text that is tokenized, so a merge is looked up by one
// contiguous view and the place where it is cut; nothing is concatenated and nothing is stored but
// the rank. The merges themselves ("left right") stay in the mapped file.
// Invariants: at most half full; a lookup inspects a bounded number of slots (see PieceTable).
// Thread-safety: immutable after build().
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/piece_table.h"

namespace minfer::text {

class MergeTable {
 public:
  static constexpr std::uint32_t kNoMerge = std::numeric_limits<std::uint32_t>::max();

  /// Indexes `merges` (array and characters must outlive the table); the lower rank of equal ones
  /// wins. A merge whose result is no piece of `pieces` is left out and counted: applying it could
  /// only lose text. kCorrupt for a merge that is not two pieces with one blank between.
  static Result<MergeTable> build(std::span<const std::string_view> merges,
                                  const PieceTable& pieces);

  /// The rank of the merge of pair[0, cut) with pair[cut, end), or kNoMerge.
  [[nodiscard]] std::uint32_t find(std::string_view pair, std::size_t cut) const;

  [[nodiscard]] std::size_t n_unknown_result() const { return n_unknown_result_; }
  /// The first merge whose result is no piece, or kNoMerge.
  [[nodiscard]] std::uint32_t first_unknown_result() const { return first_unknown_result_; }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t rank = kNoMerge;
  };

  [[nodiscard]] bool matches(std::uint32_t rank, std::string_view pair, std::size_t cut) const {
    const std::string_view merge = merges_[rank];
    return merge.size() == pair.size() + 1 && merge[cut] == ' ' &&
           merge.substr(0, cut) == pair.substr(0, cut) && merge.substr(cut + 1) == pair.substr(cut);
  }

  std::span<const std::string_view> merges_;
  std::vector<Slot> slots_;
  std::uint64_t mask_ = 0;
  std::size_t n_unknown_result_ = 0;
  std::uint32_t first_unknown_result_ = kNoMerge;
};

}  // namespace minfer::text
