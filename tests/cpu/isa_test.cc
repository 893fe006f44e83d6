#include "cpu/isa.h"

#include <gtest/gtest.h>

namespace minfer::cpu {
namespace {

constexpr CpuFeatures kAll = {.avx = true, .avx2 = true, .fma = true, .f16c = true};

TEST(ChooseIsa, BestThatTheMachineHas) {
  EXPECT_EQ(choose_isa("", kAll).value(), Isa::kAvx2);
  EXPECT_EQ(choose_isa("", CpuFeatures{}).value(), Isa::kScalar);
}

TEST(ChooseIsa, ForcedByName) {
  EXPECT_EQ(choose_isa("scalar", kAll).value(), Isa::kScalar);
  EXPECT_EQ(choose_isa("avx2", kAll).value(), Isa::kAvx2);
}

TEST(ChooseIsa, NamesTheMissingFeature) {
  CpuFeatures features = kAll;
  features.f16c = false;
  EXPECT_EQ(choose_isa("", features).value(), Isa::kScalar);
  const auto result = choose_isa("avx2", features);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(result.status().message().find("F16C"), std::string::npos);
}

TEST(ChooseIsa, UnknownNameListsTheKnown) {
  const auto result = choose_isa("avx3", kAll);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("scalar, avx2"), std::string::npos);
}

}  // namespace
}  // namespace minfer::cpu
