#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/known_backends.h"

namespace minfer::backend {
namespace {

TEST(KvFormat, names_go_both_ways) {
  for (KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
    const Result<KvFormat> back = kv_format_from_name(kv_format_name(format));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, format);
  }
  EXPECT_EQ(kv_format_name(KvFormat::kQ8_0), "q8_0");
}

TEST(KvFormat, unknown_name_lists_the_known) {
  const Result<KvFormat> format = kv_format_from_name("q4_0");
  EXPECT_EQ(format.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(format.status().message(), "\"q4_0\" is no KV type; known are f32, f16, q8_0");
}

TEST(KnownBackends, cpu_is_always_there_and_others_are_refused_by_name) {
  EXPECT_TRUE(check_backend_name("cpu").ok());
  const Status cuda = check_backend_name("cuda");
  EXPECT_EQ(cuda.code(), StatusCode::kUnsupported);
  EXPECT_EQ(cuda.message(), "the cuda backend is not in this build, which has cpu");
  const Status typo = check_backend_name("cpuu");
  EXPECT_EQ(typo.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(typo.message(), "\"cpuu\" is no backend; this build has cpu");
  EXPECT_EQ(known_backends().size(), 4U);
}

}  // namespace
}  // namespace minfer::backend
