#include "plan/kv_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/page_pool.h"
#include "plan/sequence_state.h"

namespace minfer::plan {
namespace {

constexpr std::int32_t kNoPage = -1;

constexpr std::int32_t pages_for(std::int32_t positions) {
  return (positions + backend::kPageRows - 1) / backend::kPageRows;
}

/// Bytes of each strip of a page of group `group`, in order.
std::vector<std::uint64_t> strips_of(const backend::KvGeometry& geometry, std::size_t group) {
  std::vector<std::uint64_t> strips;
  for (const backend::KvLayer& layer : geometry.layers) {
    if (layer.n_head_kv == 0 || static_cast<std::size_t>(layer.group) != group) continue;
    strips.insert(strips.end(), static_cast<std::size_t>(layer.strips.n_strips),
                  layer.strips.strip_bytes);
  }
  return strips;
}

}  // namespace

struct KvStore::Impl {
  struct Table {
    std::vector<std::int32_t> pages;  // by position / kPageRows
    std::int32_t first = 0;           // entries before it were given back
    std::int32_t end = 0;             // entries from it on are kNoPage
  };
  struct Sequence {
    bool open = false;
    std::int32_t length = 0;
    std::vector<Table> tables;  // by group
  };

  const backend::Backend* backend = nullptr;
  backend::KvGeometry geometry;
  KvStoreOptions options;
  std::vector<PagePool> pools;  // by group
  std::vector<Sequence> sequences;
  SequenceState state;
  // What access() points to.
  std::vector<std::byte*> group_base;
  std::vector<const std::byte*> state_read;
  std::vector<std::byte*> state_write;

  Sequence& at(SequenceId id) {
    MINFER_CHECK(is_open(id));
    return sequences[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool is_open(SequenceId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < sequences.size() &&
           sequences[static_cast<std::size_t>(id)].open;
  }

  /// The page that the next row of a sequence goes to, kNoPage if it has to be made.
  [[nodiscard]] static std::int32_t next_page(const Sequence& sequence, std::size_t group) {
    const Table& table = sequence.tables[group];
    const std::int32_t k = sequence.length / backend::kPageRows;
    return k < table.end ? table.pages[static_cast<std::size_t>(k)] : kNoPage;
  }

  [[nodiscard]] std::int32_t pages_needed(std::span<const NewRows> rows, std::size_t group) const;
  Status check_room(std::span<const NewRows> rows) const;
  Status make_room(const NewRows& rows);
  /// A page for entry `k` of a sequence's table: the one after its neighbour's if that is free. The
  /// sequences start far apart, so that they can grow side by side.
  std::int32_t take_page(SequenceId id, std::size_t group, std::int32_t k);
  void drop_pages_from(Sequence& sequence, std::int32_t first_page);
  [[nodiscard]] std::int32_t restorable_length(SequenceId id, std::int32_t n) const;
  Result<SequenceId> open_slot();
};

KvStore::KvStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KvStore::~KvStore() = default;

Result<std::unique_ptr<KvStore>> KvStore::create(backend::Backend& backend,
                                                 const backend::KvGeometry& geometry,
                                                 const KvStoreOptions& options) {
  if (options.max_sequences < 1) return invalid_argument("a KV store needs room for a sequence");
  if (geometry.n_ctx < 1) return invalid_argument("n_ctx must be positive");
  auto impl = std::make_unique<Impl>();
  impl->backend = &backend;
  impl->geometry = geometry;
  impl->options = options;
  const std::int32_t pages =
      options.pages_per_group > 0 ? options.pages_per_group : geometry.pages_per_sequence() + 1;
  impl->pools.reserve(geometry.groups.size());
  for (std::size_t g = 0; g < geometry.groups.size(); ++g) {
    impl->geometry.groups[g].n_pages = pages;
    MINFER_ASSIGN_OR_RETURN(
        PagePool pool, PagePool::create(backend, strips_of(geometry, g), pages, options.poison));
    impl->pools.push_back(std::move(pool));
  }
  MINFER_ASSIGN_OR_RETURN(impl->state,
                          SequenceState::create(backend, options.state_bytes, options.max_sequences,
                                                options.max_checkpoints));
  impl->sequences.resize(static_cast<std::size_t>(options.max_sequences));
  for (Impl::Sequence& sequence : impl->sequences) {
    sequence.tables.resize(geometry.groups.size());
    for (Impl::Table& table : sequence.tables) {
      table.pages.assign(static_cast<std::size_t>(geometry.pages_per_sequence()), kNoPage);
    }
  }
  impl->group_base.resize(geometry.groups.size());
  impl->state_read.resize(impl->sequences.size());
  impl->state_write.resize(impl->sequences.size());
  return std::unique_ptr<KvStore>(new KvStore(std::move(impl)));
}

const backend::KvGeometry& KvStore::geometry() const { return impl_->geometry; }

const backend::Backend& KvStore::backend() const { return *impl_->backend; }

std::int32_t KvStore::max_sequences() const { return impl_->options.max_sequences; }

Result<SequenceId> KvStore::Impl::open_slot() {
  const auto slot = std::find_if(sequences.begin(), sequences.end(),
                                 [](const Sequence& sequence) { return !sequence.open; });
  if (slot == sequences.end()) {
    return out_of_memory(fmt::format("all {} sequences are in use", sequences.size()));
  }
  slot->open = true;
  slot->length = 0;
  return static_cast<SequenceId>(slot - sequences.begin());
}

Result<SequenceId> KvStore::open() {
  MINFER_ASSIGN_OR_RETURN(const SequenceId id, impl_->open_slot());
  if (Status status = impl_->state.reset(id); !status.ok()) {
    impl_->at(id).open = false;
    return status;
  }
  return id;
}

void KvStore::close(SequenceId id) {
  Impl::Sequence& sequence = impl_->at(id);
  impl_->drop_pages_from(sequence, 0);
  sequence.open = false;
}

Result<SequenceId> KvStore::fork(SequenceId from, std::int32_t n) {
  if (n < 0 || n > impl_->at(from).length) {
    return out_of_range(
        fmt::format("a fork at position {} of a sequence of {}", n, impl_->at(from).length));
  }
  MINFER_ASSIGN_OR_RETURN(const SequenceId id, open());
  const Impl::Sequence& source = impl_->at(from);
  const std::int32_t length = impl_->restorable_length(from, n);
  const Status copied = length == source.length ? impl_->state.copy_present(from, id)
                                                : impl_->state.copy_checkpoint(from, length, id);
  if (!copied.ok()) {
    close(id);
    return copied;
  }
  Impl::Sequence& sequence = impl_->at(id);
  sequence.length = length;
  for (std::size_t group = 0; group < sequence.tables.size(); ++group) {
    const Impl::Table& shared = source.tables[group];
    Impl::Table& table = sequence.tables[group];
    table.end = std::min(shared.end, pages_for(length));
    table.first = std::min(shared.first, table.end);
    for (auto k = static_cast<std::size_t>(table.first); k < static_cast<std::size_t>(table.end);
         ++k) {
      table.pages[k] = shared.pages[k];
      impl_->pools[group].add_ref(table.pages[k]);
    }
  }
  return id;
}

bool KvStore::is_open(SequenceId id) const { return impl_->is_open(id); }

std::int32_t KvStore::length(SequenceId id) const { return impl_->at(id).length; }

/// Pages that the rows take, copies of shared ones included.
std::int32_t KvStore::Impl::pages_needed(std::span<const NewRows> rows, std::size_t group) const {
  std::int32_t needed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].n == 0) continue;
    const Sequence& sequence = sequences[static_cast<std::size_t>(rows[i].sequence)];
    needed += std::max(0, pages_for(sequence.length + rows[i].n) - sequence.tables[group].end);
    const std::int32_t page = next_page(sequence, group);
    if (page == kNoPage) continue;
    // Whoever copies the page leaves one owner fewer to those after it.
    std::int32_t owners = pools[group].refs(page);
    for (std::size_t j = 0; j < i; ++j) {
      const Sequence& before = sequences[static_cast<std::size_t>(rows[j].sequence)];
      if (rows[j].n > 0 && next_page(before, group) == page) --owners;
    }
    if (owners > 1) ++needed;
  }
  return needed;
}

Status KvStore::Impl::check_room(std::span<const NewRows> rows) const {
  for (const NewRows& add : rows) {
    if (!is_open(add.sequence)) {
      return invalid_argument(fmt::format("sequence {} is not open", add.sequence));
    }
    MINFER_CHECK(add.n >= 0);
    const std::int32_t length = sequences[static_cast<std::size_t>(add.sequence)].length;
    if (add.n > geometry.n_ctx - length) {
      return out_of_range(fmt::format("position {} is past the context of {} positions",
                                      static_cast<std::int64_t>(length) + add.n - 1,
                                      geometry.n_ctx));
    }
  }
  for (std::size_t group = 0; group < pools.size(); ++group) {
    const std::int32_t needed = pages_needed(rows, group);
    if (needed > pools[group].n_free()) {
      return out_of_memory(
          fmt::format("the KV needs {} more pages of {} positions; {} of {} are free", needed,
                      backend::kPageRows, pools[group].n_free(), pools[group].n_pages()));
    }
  }
  return ok_status();
}

std::int32_t KvStore::Impl::take_page(SequenceId id, std::size_t group, std::int32_t k) {
  PagePool& pool = pools[group];
  const Table& table = at(id).tables[group];
  const std::int32_t before = k > 0 ? table.pages[static_cast<std::size_t>(k - 1)] : kNoPage;
  if (before != kNoPage) return pool.take(before + 1);
  return pool.take(id * (pool.n_pages() / static_cast<std::int32_t>(sequences.size())));
}

Status KvStore::Impl::make_room(const NewRows& rows) {
  if (rows.n == 0) return ok_status();
  Sequence& sequence = at(rows.sequence);
  for (std::size_t group = 0; group < pools.size(); ++group) {
    PagePool& pool = pools[group];
    Table& table = sequence.tables[group];
    const std::int32_t shared = next_page(sequence, group);
    if (shared != kNoPage && pool.refs(shared) > 1) {
      const std::int32_t copy =
          take_page(rows.sequence, group, sequence.length / backend::kPageRows);
      if (Status status = pool.copy(shared, copy); !status.ok()) {
        pool.release(copy);
        return status;
      }
      pool.release(shared);
      table.pages[static_cast<std::size_t>(sequence.length / backend::kPageRows)] = copy;
    }
    const std::int32_t end = pages_for(sequence.length + rows.n);
    for (; table.end < end; ++table.end) {
      table.pages[static_cast<std::size_t>(table.end)] = take_page(rows.sequence, group, table.end);
    }
  }
  return ok_status();
}

Status KvStore::prepare(std::span<const NewRows> rows) {
  MINFER_RETURN_IF_ERROR(impl_->check_room(rows));
  for (const NewRows& add : rows) {
    if (Status status = impl_->make_room(add); !status.ok()) {
      for (const NewRows& made : rows) abandon_rows(made.sequence);
      return status;
    }
  }
  return ok_status();
}

Status KvStore::prepare_rows(SequenceId id, std::int32_t n) {
  const NewRows rows{.sequence = id, .n = n};
  return prepare({&rows, 1});
}

void KvStore::commit_rows(SequenceId id, std::int32_t n) {
  Impl::Sequence& sequence = impl_->at(id);
  if (n == 0) return;
  for (const Impl::Table& table : sequence.tables) {
    MINFER_CHECK(pages_for(sequence.length + n) <= table.end);
  }
  sequence.length += n;
  impl_->state.commit(id);
}

void KvStore::abandon_rows(SequenceId id) {
  Impl::Sequence& sequence = impl_->at(id);
  impl_->drop_pages_from(sequence, pages_for(sequence.length));
}

void KvStore::Impl::drop_pages_from(Sequence& sequence, std::int32_t first_page) {
  for (std::size_t group = 0; group < pools.size(); ++group) {
    Table& table = sequence.tables[group];
    while (table.end > std::max(first_page, table.first)) {
      std::int32_t& entry = table.pages[static_cast<std::size_t>(--table.end)];
      pools[group].release(entry);
      entry = kNoPage;
    }
    // With nothing left the table starts anew, the evicted entries included.
    if (first_page == 0) table.first = table.end = 0;
  }
}

std::int32_t KvStore::Impl::restorable_length(SequenceId id, std::int32_t n) const {
  const Sequence& sequence = sequences[static_cast<std::size_t>(id)];
  if (n == sequence.length) return n;
  const std::int32_t length = state.empty() ? n : state.nearest(id, n);
  for (std::size_t group = 0; group < pools.size(); ++group) {
    const std::int32_t window = geometry.groups[group].window;
    if (window == 0) continue;
    // The next token, at position `length`, sees length - window + 1 and later.
    const std::int32_t first_seen = std::max(0, length - window + 1);
    if (sequence.tables[group].first * backend::kPageRows > first_seen) return 0;
  }
  return length;
}

Status KvStore::truncate(SequenceId id, std::int32_t n) {
  Impl::Sequence& sequence = impl_->at(id);
  if (n < 0) return invalid_argument("a sequence cannot be cut to a negative length");
  if (n >= sequence.length) return ok_status();
  const std::int32_t length = impl_->restorable_length(id, n);
  MINFER_RETURN_IF_ERROR(impl_->state.restore(id, length));
  sequence.length = length;
  impl_->drop_pages_from(sequence, pages_for(length));
  return ok_status();
}

void KvStore::evict_outside_window(SequenceId id) {
  Impl::Sequence& sequence = impl_->at(id);
  for (std::size_t group = 0; group < impl_->pools.size(); ++group) {
    const std::int32_t window = impl_->geometry.groups[group].window;
    if (window == 0) continue;
    Impl::Table& table = sequence.tables[group];
    const std::int32_t first_seen = std::max(0, sequence.length - window + 1);
    const std::int32_t keep_from = std::min(first_seen / backend::kPageRows, table.end);
    for (; table.first < keep_from; ++table.first) {
      std::int32_t& entry = table.pages[static_cast<std::size_t>(table.first)];
      impl_->pools[group].release(entry);
      entry = kNoPage;
    }
  }
}

Status KvStore::checkpoint(SequenceId id) {
  return impl_->state.checkpoint(id, impl_->at(id).length);
}

std::span<const std::int32_t> KvStore::pages(SequenceId id, std::int32_t group) const {
  return impl_->at(id).tables[static_cast<std::size_t>(group)].pages;
}

backend::KvAccess KvStore::access(std::span<const SequenceId> sequences) {
  Impl& s = *impl_;
  MINFER_CHECK(sequences.size() <= s.sequences.size());
  for (std::size_t group = 0; group < s.pools.size(); ++group) {
    s.group_base[group] = s.pools[group].base();
  }
  backend::KvAccess access{.geometry = &s.geometry,
                           .group_base = s.group_base,
                           .state_read = {},
                           .state_write = {},
                           .slot_offset = s.options.slot_offset};
  if (s.state.empty()) return access;
  for (std::size_t q = 0; q < sequences.size(); ++q) {
    s.state_read[q] = s.state.read_lane(sequences[q]);
    s.state_write[q] = s.state.write_lane(sequences[q]);
  }
  access.state_read = {s.state_read.data(), sequences.size()};
  access.state_write = {s.state_write.data(), sequences.size()};
  return access;
}

const std::byte* KvStore::group_data(std::int32_t group) const {
  return impl_->pools[static_cast<std::size_t>(group)].base();
}

std::int32_t KvStore::page_refs(std::int32_t group, std::int32_t page) const {
  return impl_->pools[static_cast<std::size_t>(group)].refs(page);
}

KvStore::Usage KvStore::usage() const {
  Usage usage;
  for (const PagePool& pool : impl_->pools) {
    const std::int32_t used = pool.n_pages() - pool.n_free();
    usage.pages_used += used;
    usage.pages_total += pool.n_pages();
    usage.bytes_used += static_cast<std::uint64_t>(used) * pool.page_bytes();
    usage.bytes_reserved += static_cast<std::uint64_t>(pool.n_pages()) * pool.page_bytes();
  }
  usage.bytes_used += impl_->state.bytes();
  usage.bytes_reserved += impl_->state.bytes();
  return usage;
}

}  // namespace minfer::plan
