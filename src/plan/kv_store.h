// KvStore: the pages that hold the KV of all sequences, and the fixed-size state of recurrent
// layers.
//
// Owns: one buffer of pages a layer group, reserved at full size and committed as touched; page
// reference counts; a page table a sequence and group; two state slots a sequence with checkpoints.
// Invariants: page k of a sequence holds positions 64k..64k+63. A page with more than one owner is
// never written: prepare_rows() copies a partly filled one first. Rows past a sequence's length are
// garbage and nothing reads them, so truncation is O(1) for attention. Nothing is compacted. The
// store outlives every graph and is never rebuilt; asking for another geometry is an error.
// Preparing and committing rows allocates nothing on the heap.
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"

namespace minfer::plan {

using SequenceId = std::int32_t;

#ifdef MINFER_DEBUG
inline constexpr bool kDebugBuild = true;
#else
inline constexpr bool kDebugBuild = false;
#endif

struct KvStoreOptions {
  std::int32_t max_sequences = 1;
  /// Pages a group holds; 0: enough for one sequence of n_ctx positions (and one spare page).
  std::int32_t pages_per_group = 0;
  /// Bytes of recurrent state a sequence needs, and where each slot starts in it.
  std::uint64_t state_bytes = 0;
  std::vector<std::uint64_t> slot_offset = {};
  std::int32_t max_checkpoints = 0;
  /// Fills pages with NaN when they are handed out and when they are freed.
  bool poison = kDebugBuild;
};

class KvStore {
 public:
  static Result<std::unique_ptr<KvStore>> create(backend::Backend& backend,
                                                 const backend::KvGeometry& geometry,
                                                 const KvStoreOptions& options);
  ~KvStore();

  [[nodiscard]] const backend::KvGeometry& geometry() const;
  [[nodiscard]] std::int32_t max_sequences() const;
  /// The one whose memory the pages are in.
  [[nodiscard]] const backend::Backend& backend() const;

  /// A new empty sequence. kOutOfMemory: max_sequences are open.
  Result<SequenceId> open();
  void close(SequenceId id);
  /// A new sequence whose first `n` positions share the pages of `from` (n <= length(from)). It is
  /// shorter than n where truncate() would be.
  Result<SequenceId> fork(SequenceId from, std::int32_t n);

  [[nodiscard]] bool is_open(SequenceId id) const;
  /// Positions that are valid.
  [[nodiscard]] std::int32_t length(SequenceId id) const;

  /// Makes pages for positions length..length+n-1 writable (allocates, copies a shared one).
  /// kOutOfRange: past n_ctx; kOutOfMemory: no page is free. Nothing has changed on error.
  Status prepare_rows(SequenceId id, std::int32_t n);
  /// The rows that one forward adds to a sequence.
  struct NewRows {
    SequenceId sequence = 0;
    std::int32_t n = 0;
  };
  /// prepare_rows for several sequences, each named once: all of them or none.
  Status prepare(std::span<const NewRows> rows);
  /// Moves the cursor: the rows that a forward has written count now. State slots swap.
  void commit_rows(SequenceId id, std::int32_t n);
  /// Gives back the pages past the cursor that prepare_rows made for a forward that failed.
  void abandon_rows(SequenceId id);
  /// Forgets positions >= n (n >= length: nothing). With recurrent state: the nearest checkpoint at
  /// or before n is restored; the length is then the checkpoint's, and the caller runs the tokens
  /// up to n again. The same where a window's pages before n were given back: the length is 0.
  Status truncate(SequenceId id, std::int32_t n);
  /// Gives back pages of windowed groups that no later position can see.
  void evict_outside_window(SequenceId id);
  /// Saves the state at the present length; nothing to do without recurrent state.
  Status checkpoint(SequenceId id);

  /// Page ids of a sequence in a group by position / 64; -1 where there is none.
  [[nodiscard]] std::span<const std::int32_t> pages(SequenceId id, std::int32_t group) const;
  /// Where programs find pages and states; row q of the page tables is sequences[q]. Valid until
  /// the next call of a function that is not const.
  [[nodiscard]] backend::KvAccess access(std::span<const SequenceId> sequences);
  /// Start of a group's memory in the backend's address space (KvGeometry::strip_offset).
  [[nodiscard]] const std::byte* group_data(std::int32_t group) const;
  /// Owners of a page; 0: free.
  [[nodiscard]] std::int32_t page_refs(std::int32_t group, std::int32_t page) const;

  struct Usage {
    std::int32_t pages_used = 0;
    std::int32_t pages_total = 0;
    std::uint64_t bytes_used = 0;
    std::uint64_t bytes_reserved = 0;
  };
  [[nodiscard]] Usage usage() const;

 private:
  struct Impl;
  explicit KvStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace minfer::plan
