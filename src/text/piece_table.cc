#include "text/piece_table.h"

#include <fmt/format.h>

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace minfer::text {

std::uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Result<PieceTable> PieceTable::build(std::span<const std::string_view> pieces) {
  PieceTable table;
  table.pieces_ = pieces;
  table.slots_.resize(std::bit_ceil(pieces.size() * 2 + 2));
  table.mask_ = table.slots_.size() - 1;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const std::uint64_t hash = hash_bytes(pieces[id]);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::uint64_t at = hash & table.mask_;
    bool duplicate = false;
    std::uint32_t probes = 0;
    while (table.slots_[at].id >= 0) {
      const Slot& slot = table.slots_[at];
      if (slot.tag == tag && pieces[static_cast<std::size_t>(slot.id)] == pieces[id]) {
        duplicate = true;
        break;
      }
      if (++probes == kMaxProbes)
        return corrupt(fmt::format("token {}: too many pieces share one hash", id));
      at = (at + 1) & table.mask_;
    }
    if (duplicate) {
      if (table.n_duplicates_++ == 0) table.first_duplicate_ = static_cast<std::int32_t>(id);
    } else {
      table.slots_[at] = {tag, static_cast<std::int32_t>(id)};
    }
  }
  return table;
}

std::int32_t PieceTable::find(std::string_view piece, std::uint64_t hash) const {
  if (slots_.empty()) return -1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (slot.id < 0) return -1;
    if (slot.tag == tag && pieces_[static_cast<std::size_t>(slot.id)] == piece) return slot.id;
  }
}

}  // namespace minfer::text
