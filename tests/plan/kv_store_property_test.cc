// Random operations on a KV store against a model that keeps every row of every sequence apart.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plan/kv_geometry.h"
#include "plan/kv_store.h"
#include "tests/support/reference_backend.h"

namespace minfer::tests {
namespace {

constexpr std::int32_t kContext = 330;
constexpr std::int32_t kWindow = 100;
constexpr std::int32_t kMaxSequences = 5;
constexpr std::int32_t kPages = 12;

/// The store, and by sequence the stamps that its positions should hold.
class StoreAndModel {
 public:
  explicit StoreAndModel(std::uint32_t seed) : random_(seed) {
    const plan::KvLayerShape layers[] = {{.n_head_kv = 1, .head_dim = 1, .window = kWindow},
                                         {.n_head_kv = 1, .head_dim = 1, .window = 0}};
    const auto geometry =
        plan::make_kv_geometry(host_, backend::KvFormat::kF32, kContext, layers).value();
    kv_ = plan::KvStore::create(host_, geometry,
                                {.max_sequences = kMaxSequences,
                                 .pages_per_group = kPages,
                                 .state_bytes = 8,
                                 .slot_offset = {0},
                                 .max_checkpoints = 2,
                                 .poison = true})
              .value();
  }

  void step() {
    switch (random_() % 9) {
      case 0:
        return open();
      case 1:
        return close();
      case 2:
        return fork();
      case 3:
        return truncate();
      case 4:
        return evict();
      case 5:
        return checkpoint();
      case 6:
        return abandon();
      default:
        return append();
    }
  }

  void check() {
    std::vector<std::vector<int>> owners(2, std::vector<int>(kPages, 0));
    for (const auto& [id, sequence] : model_) {
      ASSERT_EQ(kv_->length(id), static_cast<std::int32_t>(sequence.stamps.size()));
      for (std::int32_t group = 0; group < 2; ++group) {
        for (std::int32_t page : kv_->pages(id, group)) {
          if (page >= 0) ++owners[static_cast<std::size_t>(group)][static_cast<std::size_t>(page)];
        }
        check_rows(id, sequence, group);
      }
      const plan::SequenceId ids[] = {id};
      const auto* state = reinterpret_cast<const std::uint64_t*>(kv_->access(ids).state_read[0]);
      ASSERT_EQ(*state, sequence.states.back());
    }
    std::int32_t used = 0;
    for (std::int32_t group = 0; group < 2; ++group) {
      for (std::int32_t page = 0; page < kPages; ++page) {
        const int n = owners[static_cast<std::size_t>(group)][static_cast<std::size_t>(page)];
        ASSERT_EQ(kv_->page_refs(group, page), n);
        used += n > 0 ? 1 : 0;
      }
    }
    ASSERT_EQ(kv_->usage().pages_used, used);
  }

  int refused = 0;

 private:
  struct Sequence {
    std::vector<float> stamps;          // by position
    std::vector<std::uint64_t> states;  // by length: what the state holds
    std::vector<std::int32_t> checkpoints;
    std::int32_t evicted = 0;  // positions below it are gone in group 0
  };

  std::int32_t draw(std::int32_t below) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(below));
  }

  /// A random sequence, or null.
  Sequence* pick(plan::SequenceId& id) {
    if (model_.empty()) return nullptr;
    auto it = model_.begin();
    std::advance(it, draw(static_cast<std::int32_t>(model_.size())));
    id = it->first;
    return &it->second;
  }

  float* row(plan::SequenceId id, std::int32_t group, std::int32_t position) {
    const auto page = kv_->pages(id, group)[static_cast<std::size_t>(position / 64)];
    if (page < 0) return nullptr;
    const auto& geometry = kv_->geometry();
    const auto layer = std::find_if(geometry.layers.begin(), geometry.layers.end(),
                                    [&](const auto& l) { return l.group == group; });
    auto* data =
        const_cast<std::byte*>(kv_->group_data(group)) + geometry.strip_offset(*layer, 0, page);
    return reinterpret_cast<float*>(data) + (position % 64) * 2;
  }

  void check_rows(plan::SequenceId id, const Sequence& sequence, std::int32_t group) {
    const auto length = static_cast<std::int32_t>(sequence.stamps.size());
    const std::int32_t first = group == 0 ? std::max(0, length - kWindow + 1) : 0;
    for (std::int32_t position = first; position < length; ++position) {
      const float* at = row(id, group, position);
      ASSERT_NE(at, nullptr) << "position " << position << " of " << length;
      ASSERT_EQ(*at, sequence.stamps[static_cast<std::size_t>(position)]);
    }
  }

  void open() {
    const auto id = kv_->open();
    if (!id.ok()) {
      ASSERT_EQ(model_.size(), static_cast<std::size_t>(kMaxSequences));
      return;
    }
    ASSERT_FALSE(model_.contains(*id));
    model_[*id].states.push_back(0);
  }

  void close() {
    plan::SequenceId id = 0;
    if (draw(3) != 0 || pick(id) == nullptr) return;
    kv_->close(id);
    model_.erase(id);
  }

  /// Prepares rows for some sequences at once and writes them as a forward would.
  void append() {
    std::vector<plan::KvStore::NewRows> rows;
    for (auto& [id, sequence] : model_) {
      if (draw(2) == 0) rows.push_back({.sequence = id, .n = draw(3) == 0 ? 1 + draw(90) : 1});
    }
    const plan::KvStore::Usage before = kv_->usage();
    if (!kv_->prepare(rows).ok()) {
      ++refused;
      ASSERT_EQ(kv_->usage().pages_used, before.pages_used);
      return;
    }
    for (const auto& add : rows) {
      Sequence& sequence = model_[add.sequence];
      const plan::SequenceId ids[] = {add.sequence};
      auto* state = reinterpret_cast<std::uint64_t*>(kv_->access(ids).state_write[0]);
      for (std::int32_t i = 0; i < add.n; ++i) {
        const auto position = static_cast<std::int32_t>(sequence.stamps.size());
        sequence.stamps.push_back(++stamp_);
        sequence.states.push_back(sequence.states.back() * 3 + static_cast<std::uint64_t>(stamp_));
        for (std::int32_t group = 0; group < 2; ++group)
          *row(add.sequence, group, position) = stamp_;
      }
      *state = sequence.states.back();
      kv_->commit_rows(add.sequence, add.n);
    }
  }

  void abandon() {
    plan::SequenceId id = 0;
    if (pick(id) == nullptr || !kv_->prepare_rows(id, 1 + draw(100)).ok()) return;
    const auto length = kv_->length(id);
    for (std::int32_t group = 0; group < 2; ++group) *row(id, group, length) = -1.0F;
    kv_->abandon_rows(id);
  }

  static std::int32_t restorable(const Sequence& sequence, std::int32_t n) {
    if (n == static_cast<std::int32_t>(sequence.stamps.size())) return n;
    std::int32_t length = 0;
    for (std::int32_t position : sequence.checkpoints) {
      if (position <= n) length = std::max(length, position);
    }
    const bool seen_is_there = sequence.evicted <= std::max(0, length - kWindow + 1);
    return seen_is_there ? length : 0;
  }

  static void cut(Sequence& sequence, std::int32_t length) {
    sequence.stamps.resize(static_cast<std::size_t>(length));
    sequence.states.resize(static_cast<std::size_t>(length) + 1);
    if (length == 0) sequence.evicted = 0;
  }

  void fork() {
    plan::SequenceId from = 0;
    const Sequence* source = pick(from);
    if (source == nullptr) return;
    const std::int32_t n = draw(static_cast<std::int32_t>(source->stamps.size()) + 1);
    const auto id = kv_->fork(from, n);
    if (!id.ok()) return;
    Sequence copy = *source;
    cut(copy, restorable(*source, n));
    copy.checkpoints.clear();
    model_[*id] = copy;
  }

  void truncate() {
    plan::SequenceId id = 0;
    Sequence* sequence = pick(id);
    if (sequence == nullptr) return;
    const std::int32_t n = draw(static_cast<std::int32_t>(sequence->stamps.size()) + 1);
    ASSERT_TRUE(kv_->truncate(id, n).ok());
    if (n == static_cast<std::int32_t>(sequence->stamps.size())) return;
    const std::int32_t length = restorable(*sequence, n);
    cut(*sequence, length);
    std::erase_if(sequence->checkpoints, [&](std::int32_t p) { return p > length; });
  }

  void evict() {
    plan::SequenceId id = 0;
    Sequence* sequence = pick(id);
    if (sequence == nullptr) return;
    kv_->evict_outside_window(id);
    const auto length = static_cast<std::int32_t>(sequence->stamps.size());
    const std::int32_t whole_pages = std::max(0, length - kWindow + 1) / 64 * 64;
    sequence->evicted = std::max(sequence->evicted, whole_pages);
  }

  void checkpoint() {
    plan::SequenceId id = 0;
    Sequence* sequence = pick(id);
    if (sequence == nullptr) return;
    ASSERT_TRUE(kv_->checkpoint(id).ok());
    const auto length = static_cast<std::int32_t>(sequence->stamps.size());
    auto& kept = sequence->checkpoints;
    if (length == 0 || std::count(kept.begin(), kept.end(), length) > 0) return;
    if (kept.size() == 2) kept.erase(std::min_element(kept.begin(), kept.end()));
    kept.push_back(length);
  }

  ReferenceBackend host_;
  std::unique_ptr<plan::KvStore> kv_;
  std::map<plan::SequenceId, Sequence> model_;
  std::mt19937 random_;
  float stamp_ = 0;
};

TEST(KvStore, random_operations_agree_with_a_model) {
  int refused = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    StoreAndModel both(seed);
    for (int i = 0; i < 1500; ++i) {
      both.step();
      both.check();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
    }
    refused += both.refused;
  }
  EXPECT_GT(refused, 50) << "the pool is too large to ever be empty";
}

}  // namespace
}  // namespace minfer::tests
