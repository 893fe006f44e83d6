#include "text/merge_table.h"

#include <fmt/format.h>

#include <bit>
#include <string>

namespace minfer::text {
namespace {

std::uint64_t with_cut(std::uint64_t hash, std::size_t cut) {
  return hash ^ (cut * 0x9E3779B97F4A7C15ULL);
}

}  // namespace

Result<MergeTable> MergeTable::build(std::span<const std::string_view> merges,
                                     const PieceTable& pieces) {
  MergeTable table;
  table.merges_ = merges;
  table.slots_.resize(std::bit_ceil(merges.size() * 2 + 2));
  table.mask_ = table.slots_.size() - 1;
  std::string pair;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const auto rank = static_cast<std::uint32_t>(i);
    // From 1: the left piece has at least one character.
    const std::size_t cut = merge.find(' ', 1);
    if (cut == std::string_view::npos || cut + 1 == merge.size())
      return corrupt(fmt::format("merge {} is not two pieces with a blank between", i));
    pair.assign(merge.substr(0, cut)).append(merge.substr(cut + 1));
    const std::uint64_t piece_hash = hash_bytes(pair);
    if (pieces.find(pair, piece_hash) < 0) {
      if (table.n_unknown_result_++ == 0) table.first_unknown_result_ = rank;
      continue;
    }
    const std::uint64_t hash = with_cut(piece_hash, cut);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::uint64_t at = hash & table.mask_;
    std::uint32_t probes = 0;
    bool duplicate = false;
    while (table.slots_[at].rank != kNoMerge && !duplicate) {
      duplicate = table.slots_[at].tag == tag && table.matches(table.slots_[at].rank, pair, cut);
      if (++probes == PieceTable::kMaxProbes)
        return corrupt(fmt::format("merge {}: too many merges share one hash", i));
      if (!duplicate) at = (at + 1) & table.mask_;
    }
    if (!duplicate) table.slots_[at] = {tag, rank};
  }
  return table;
}

std::uint32_t MergeTable::find(std::string_view pair, std::size_t cut) const {
  const std::uint64_t hash = with_cut(hash_bytes(pair), cut);
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (slot.rank == kNoMerge) return kNoMerge;
    if (slot.tag == tag && matches(slot.rank, pair, cut)) return slot.rank;
  }
}

}  // namespace minfer::text
