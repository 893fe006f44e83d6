#include "plan/kv_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "plan/kv_geometry.h"
#include "tests/support/poison_backend.h"
#include "tests/support/reference_backend.h"

namespace minfer::tests {
namespace {

backend::KvGeometry geometry(std::int32_t n_ctx, std::vector<std::int32_t> windows,
                             backend::KvFormat format = backend::KvFormat::kF32) {
  ReferenceBackend host;
  std::vector<plan::KvLayerShape> layers;
  for (std::int32_t window : windows) {
    layers.push_back({.n_head_kv = 2, .head_dim = 32, .window = window});
  }
  return plan::make_kv_geometry(host, format, n_ctx, layers).value();
}

std::unique_ptr<plan::KvStore> store(backend::Backend& backend, const backend::KvGeometry& g,
                                     plan::KvStoreOptions options) {
  return plan::KvStore::create(backend, g, options).value();
}

TEST(KvGeometry, layers_with_one_window_share_a_group) {
  const auto g = geometry(200, {512, 0, 512, 512, 0});
  ASSERT_EQ(g.groups.size(), 2U);
  EXPECT_EQ(g.groups[0].window, 512);
  EXPECT_EQ(g.groups[1].window, 0);
  const std::uint64_t layer = 64 * 2 * 2 * 32 * 4;
  EXPECT_EQ(g.groups[0].page_bytes, 3 * layer);
  EXPECT_EQ(g.groups[1].page_bytes, 2 * layer);
  EXPECT_EQ(g.layers[3].group, 0);
  EXPECT_EQ(g.layers[3].page_offset, 2 * layer);
  EXPECT_EQ(g.layers[4].group, 1);
  EXPECT_EQ(g.layers[4].page_offset, layer);
  EXPECT_EQ(g.pages_per_sequence(), 4);
}

TEST(KvGeometry, what_cannot_be_is_refused) {
  ReferenceBackend host;
  const plan::KvLayerShape layer{.n_head_kv = 1, .head_dim = 40};
  EXPECT_EQ(plan::make_kv_geometry(host, backend::KvFormat::kQ8_0, 64, {&layer, 1}).status().code(),
            StatusCode::kUnsupported);
  EXPECT_TRUE(plan::make_kv_geometry(host, backend::KvFormat::kF16, 64, {&layer, 1}).ok());
  EXPECT_EQ(plan::make_kv_geometry(host, backend::KvFormat::kF16, 0, {&layer, 1}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(KvStore, one_sequence_of_n_ctx_fits_by_default) {
  ReferenceBackend host;
  auto kv = store(host, geometry(130, {0}), {});
  const auto id = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(id, 130).ok());
  kv->commit_rows(id, 130);
  EXPECT_EQ(kv->length(id), 130);
  EXPECT_EQ(kv->usage().pages_used, 3);
  EXPECT_EQ(kv->usage().pages_total, 4);
  EXPECT_EQ(kv->usage().bytes_used, 3 * kv->geometry().groups[0].page_bytes);
  EXPECT_EQ(kv->prepare_rows(id, 1).message(), "position 130 is past the context of 130 positions");
  kv->close(id);
  EXPECT_EQ(kv->usage().pages_used, 0);
}

TEST(KvStore, sequences_are_limited) {
  ReferenceBackend host;
  auto kv = store(host, geometry(64, {0}), {.max_sequences = 2});
  const auto a = kv->open().value();
  const auto b = kv->open().value();
  EXPECT_NE(a, b);
  EXPECT_EQ(kv->open().status().message(), "all 2 sequences are in use");
  EXPECT_EQ(kv->fork(a, 0).status().code(), StatusCode::kOutOfMemory);
  kv->close(a);
  EXPECT_FALSE(kv->is_open(a));
  EXPECT_EQ(kv->open().value(), a);
  EXPECT_EQ(kv->fork(b, 1).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(kv->prepare_rows(5, 1).code(), StatusCode::kInvalidArgument);
}

TEST(KvStore, too_few_pages_change_nothing) {
  ReferenceBackend host;
  auto kv = store(host, geometry(256, {0, 100}), {.max_sequences = 3, .pages_per_group = 3});
  const auto a = kv->open().value();
  const auto b = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(a, 100).ok());
  kv->commit_rows(a, 100);
  const plan::KvStore::NewRows rows[] = {{.sequence = a, .n = 28}, {.sequence = b, .n = 65}};
  const Status status = kv->prepare(rows);
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(status.message(), "the KV needs 2 more pages of 64 positions; 1 of 3 are free");
  EXPECT_EQ(kv->usage().pages_used, 4);
  EXPECT_EQ(kv->pages(b, 0)[0], -1);
  // A shared page that would have to be copied counts as well.
  const auto c = kv->fork(a, 70).value();
  ASSERT_TRUE(kv->prepare_rows(b, 1).ok());
  EXPECT_EQ(kv->prepare_rows(c, 1).code(), StatusCode::kOutOfMemory);
  kv->abandon_rows(b);
  EXPECT_TRUE(kv->prepare_rows(c, 1).ok());
  EXPECT_NE(kv->pages(c, 0)[1], kv->pages(a, 0)[1]);
}

TEST(KvStore, the_last_owner_of_a_page_needs_no_copy) {
  ReferenceBackend host;
  auto kv = store(host, geometry(256, {0}), {.max_sequences = 3, .pages_per_group = 4});
  const auto a = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(a, 70).ok());
  kv->commit_rows(a, 70);
  const auto b = kv->fork(a, 70).value();
  const auto c = kv->fork(a, 70).value();
  const auto shared = kv->pages(a, 0)[1];
  // Three owners of one page: two copies, and two pages are free.
  const plan::KvStore::NewRows rows[] = {
      {.sequence = c, .n = 1}, {.sequence = b, .n = 0}, {.sequence = a, .n = 1}};
  ASSERT_TRUE(kv->prepare(rows).ok());
  EXPECT_EQ(kv->usage().pages_used, 4);
  EXPECT_EQ(kv->pages(b, 0)[1], shared);
  ASSERT_TRUE(kv->prepare_rows(b, 1).ok());
  EXPECT_EQ(kv->pages(b, 0)[1], shared);
  kv->close(a);
  kv->close(c);
  const auto d = kv->fork(b, 66).value();
  const auto e = kv->fork(b, 66).value();
  const plan::KvStore::NewRows all[] = {
      {.sequence = b, .n = 1}, {.sequence = d, .n = 1}, {.sequence = e, .n = 1}};
  ASSERT_TRUE(kv->prepare(all).ok());
  EXPECT_EQ(kv->pages(e, 0)[1], shared);
}

TEST(KvStore, abandoned_rows_give_their_pages_back) {
  ReferenceBackend host;
  auto kv = store(host, geometry(256, {0}), {});
  const auto id = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(id, 10).ok());
  kv->commit_rows(id, 10);
  ASSERT_TRUE(kv->prepare_rows(id, 200).ok());
  EXPECT_EQ(kv->usage().pages_used, 4);
  kv->abandon_rows(id);
  EXPECT_EQ(kv->usage().pages_used, 1);
  EXPECT_EQ(kv->length(id), 10);
}

TEST(KvStore, freed_and_fresh_pages_are_nan) {
  for (const auto format : {backend::KvFormat::kF32, backend::KvFormat::kF16}) {
    ReferenceBackend host;
    const auto g = geometry(128, {0}, format);
    auto kv = store(host, g, {.poison = true});
    const auto id = kv->open().value();
    ASSERT_TRUE(kv->prepare_rows(id, 1).ok());
    kv->commit_rows(id, 1);
    const auto page = kv->pages(id, 0)[0];
    const backend::KvGeometry& held = kv->geometry();
    auto* data = const_cast<std::byte*>(kv->group_data(0));
    std::vector<float> k(64), v(64);
    const auto read = [&] {
      ASSERT_TRUE(host.read_kv_row(held, held.layers[0], data, page, 17, k, v).ok());
    };
    read();
    for (float x : k) EXPECT_NE(x, x);
    std::memset(data + held.strip_offset(held.layers[0], 0, page), 0, held.groups[0].page_bytes);
    kv->close(id);
    read();
    for (float x : v) EXPECT_NE(x, x);
  }
}

TEST(KvStore, sequences_that_grow_side_by_side_get_neighbouring_pages) {
  ReferenceBackend host;
  auto kv = store(host, geometry(256, {0}), {.max_sequences = 2, .pages_per_group = 10});
  const auto a = kv->open().value();
  const auto b = kv->open().value();
  for (int page = 0; page < 4; ++page) {
    for (const auto id : {a, b}) {
      ASSERT_TRUE(kv->prepare_rows(id, 64).ok());
      kv->commit_rows(id, 64);
    }
  }
  for (std::size_t k = 1; k < 4; ++k) {
    EXPECT_EQ(kv->pages(a, 0)[k], kv->pages(a, 0)[k - 1] + 1);
    EXPECT_EQ(kv->pages(b, 0)[k], kv->pages(b, 0)[k - 1] + 1);
  }
}

TEST(KvStore, a_full_pool_hands_out_every_page_once) {
  ReferenceBackend host;
  auto kv = store(host, geometry(640, {0}), {.max_sequences = 3, .pages_per_group = 7});
  const auto a = kv->open().value();
  const auto b = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(b, 64).ok());
  ASSERT_TRUE(kv->prepare_rows(a, 6 * 64).ok());
  std::vector<std::int32_t> pages(kv->pages(a, 0).begin(), kv->pages(a, 0).begin() + 6);
  pages.push_back(kv->pages(b, 0)[0]);
  std::sort(pages.begin(), pages.end());
  EXPECT_EQ(pages, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(kv->prepare_rows(kv->open().value(), 1).code(), StatusCode::kOutOfMemory);
}

TEST(KvStore, eviction_keeps_what_the_next_position_sees) {
  ReferenceBackend host;
  auto kv = store(host, geometry(640, {65, 0}), {.poison = true});
  const auto id = kv->open().value();
  std::int32_t kept_from = 0;
  for (std::int32_t length = 1; length <= 630; ++length) {
    ASSERT_TRUE(kv->prepare_rows(id, 1).ok());
    kv->commit_rows(id, 1);
    kv->evict_outside_window(id);
    // Position `length` sees length - 64 .. length.
    kept_from = std::max(0, length - 64) / 64;
    for (std::int32_t k = 0; k < 10; ++k) {
      const bool expected = k >= kept_from && k * 64 < length;
      ASSERT_EQ(kv->pages(id, 0)[static_cast<std::size_t>(k)] >= 0, expected) << length << " " << k;
      ASSERT_EQ(kv->pages(id, 1)[static_cast<std::size_t>(k)] >= 0, k * 64 < length);
    }
  }
  // 630 sees back to 566, in page 8, which starts at 512: that is as far as a rollback goes.
  ASSERT_TRUE(kv->truncate(id, 576).ok());
  EXPECT_EQ(kv->length(id), 576);
  ASSERT_TRUE(kv->truncate(id, 575).ok());
  EXPECT_EQ(kv->length(id), 0);
  EXPECT_EQ(kv->usage().pages_used, 0);
  ASSERT_TRUE(kv->prepare_rows(id, 640).ok());
  kv->commit_rows(id, 640);
  EXPECT_GE(kv->pages(id, 0)[0], 0);
}

TEST(KvStore, forks_of_an_evicted_sequence) {
  ReferenceBackend host;
  auto kv = store(host, geometry(640, {65, 0}), {.max_sequences = 3, .pages_per_group = 20});
  const auto id = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(id, 600).ok());
  kv->commit_rows(id, 600);
  kv->evict_outside_window(id);
  const auto near = kv->fork(id, 590).value();
  EXPECT_EQ(kv->length(near), 590);
  EXPECT_EQ(kv->pages(near, 0)[0], -1);
  EXPECT_EQ(kv->pages(near, 0)[8], kv->pages(id, 0)[8]);
  const auto far = kv->fork(id, 100).value();
  EXPECT_EQ(kv->length(far), 0);
  EXPECT_EQ(kv->pages(far, 1)[0], -1);
  kv->close(id);
  kv->close(near);
  kv->close(far);
  EXPECT_EQ(kv->usage().pages_used, 0);
}

TEST(KvStore, a_device_copies_its_own_pages) {
  PoisonBackend device;
  auto kv = store(device, geometry(128, {0}), {.max_sequences = 2, .pages_per_group = 4});
  const auto a = kv->open().value();
  ASSERT_TRUE(kv->prepare_rows(a, 10).ok());
  kv->commit_rows(a, 10);
  const auto b = kv->fork(a, 10).value();
  ASSERT_TRUE(kv->prepare_rows(b, 1).ok());
  EXPECT_NE(kv->pages(a, 0)[0], kv->pages(b, 0)[0]);
  EXPECT_EQ(device.counters().downloads, 1U);
}

}  // namespace
}  // namespace minfer::tests
