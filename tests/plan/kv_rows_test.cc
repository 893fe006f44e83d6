// What cannot be had as rows is refused by name; tests/engine/session_kv_test.cc checks the bits of
// those that can.
#include "plan/kv_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "plan/kv_geometry.h"
#include "tests/support/reference_backend.h"

namespace minfer::tests {
namespace {

struct Store {
  explicit Store(plan::KvStoreOptions options) {
    const std::vector<plan::KvLayerShape> layers{
        {.n_head_kv = 2, .head_dim = 32}, {}, {.n_head_kv = 1, .head_dim = 64, .window = 100}};
    const auto geometry =
        plan::make_kv_geometry(host, backend::KvFormat::kF16, 256, layers).value();
    kv = plan::KvStore::create(host, geometry, options).value();
    sequence = kv->open().value();
    EXPECT_TRUE(kv->prepare_rows(sequence, 70).ok());
    kv->commit_rows(sequence, 70);
  }

  ReferenceBackend host;
  std::unique_ptr<plan::KvStore> kv;
  plan::SequenceId sequence = 0;
};

TEST(KvRows, sizes_are_those_of_all_layers) {
  Store store({});
  const plan::SequenceRows rows(*store.kv, store.sequence);
  EXPECT_EQ(rows.row_bytes(), (2U * 32 + 64) * 2 * 2);
  EXPECT_EQ(rows.length(), 70);
  EXPECT_EQ(rows.capacity(), 256);
  // 32 codes and a scale for each block.
  EXPECT_EQ(backend::packed_kv_row_bytes(backend::KvFormat::kQ8_0, 3, 64), 3U * 2 * 2 * 34);
  EXPECT_EQ(backend::packed_kv_row_bytes(backend::KvFormat::kF32, 3, 5), 3U * 2 * 5 * 4);
}

TEST(KvRows, calls_end_where_a_page_does) {
  EXPECT_EQ(plan::rows_in_page(0, 200), 64);
  EXPECT_EQ(plan::rows_in_page(60, 200), 4);
  EXPECT_EQ(plan::rows_in_page(64, 70), 6);
}

TEST(KvRows, state_beside_the_rows_is_refused_by_name) {
  Store store({.state_bytes = 64, .slot_offset = {0}});
  plan::SequenceRows rows(*store.kv, store.sequence);
  std::vector<std::byte> bytes(rows.row_bytes());
  const Status read = rows.read(0, 1, bytes);
  EXPECT_EQ(read.code(), StatusCode::kUnsupported);
  EXPECT_NE(read.message().find("recurrent layers"), std::string::npos);
  EXPECT_EQ(rows.append(1, 1, bytes).code(), StatusCode::kUnsupported);
  EXPECT_EQ(rows.length(), 70);
}

TEST(KvRows, a_backend_that_cannot_is_named_and_nothing_changes) {
  Store store({});
  plan::SequenceRows rows(*store.kv, store.sequence);
  std::vector<std::byte> bytes(rows.row_bytes());
  const std::string name(store.host.name());
  EXPECT_NE(rows.read(0, 1, bytes).message().find(name), std::string::npos);
  const auto used = store.kv->usage().pages_used;
  EXPECT_EQ(rows.append(1, 1, bytes).code(), StatusCode::kUnsupported);
  EXPECT_EQ(rows.length(), 70);
  EXPECT_EQ(store.kv->usage().pages_used, used);
}

}  // namespace
}  // namespace minfer::tests
