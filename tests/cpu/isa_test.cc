#include "cpu/isa.h"

#include <gtest/gtest.h>

namespace minfer::cpu {
namespace {

constexpr CpuFeatures kHaswell = {.avx = true, .avx2 = true, .fma = true, .f16c = true};

CpuFeatures skylake_x() {
  CpuFeatures features = kHaswell;
  features.avx512 = true;
  return features;
}
CpuFeatures ice_lake() {
  CpuFeatures features = skylake_x();
  features.avx512_vnni = true;
  return features;
}
CpuFeatures alder_lake() {
  CpuFeatures features = kHaswell;
  features.avx_vnni = true;
  return features;
}
CpuFeatures sapphire_rapids() {
  CpuFeatures features = ice_lake();
  features.amx_int8 = true;
  return features;
}
CpuFeatures everything() {
  CpuFeatures features = sapphire_rapids();
  features.avx_vnni = true;
  return features;
}
const CpuFeatures kAll = everything();

TEST(ChooseIsa, BestThatTheMachineHas) {
  EXPECT_EQ(choose_isa("", CpuFeatures{}).value(), Isa::kScalar);
  EXPECT_EQ(choose_isa("", kHaswell).value(), Isa::kAvx2);
  EXPECT_EQ(choose_isa("", alder_lake()).value(), Isa::kAvxVnni);
  EXPECT_EQ(choose_isa("", skylake_x()).value(), Isa::kAvx512);
  EXPECT_EQ(choose_isa("", ice_lake()).value(), Isa::kAvx512Vnni);
  EXPECT_EQ(choose_isa("", sapphire_rapids()).value(), Isa::kAmx);
  EXPECT_EQ(choose_isa("", kAll).value(), Isa::kAmx);
}

TEST(ChooseIsa, EverySetByItsName) {
  for (const Isa isa : all_isas()) EXPECT_EQ(choose_isa(isa_name(isa), kAll).value(), isa);
  EXPECT_EQ(all_isas().size(), static_cast<std::size_t>(kIsaCount));
}

TEST(ChooseIsa, ASetNeedsTheOnesBelow) {
  CpuFeatures features = kAll;
  features.fma = false;
  EXPECT_EQ(choose_isa("", features).value(), Isa::kScalar);
  features = kAll;
  features.avx512 = false;
  EXPECT_EQ(missing_feature(Isa::kAvx512Vnni, features), "AVX-512 F, BW, DQ, VL");
  EXPECT_EQ(missing_feature(Isa::kAmx, features), "AVX-512 F, BW, DQ, VL");
  EXPECT_EQ(choose_isa("", features).value(), Isa::kAvxVnni);
}

TEST(Includes, AVX512DoesNotIncludeAvxVnni) {
  EXPECT_FALSE(isa_includes(Isa::kAvx512, Isa::kAvxVnni));
  EXPECT_FALSE(isa_includes(Isa::kAvx512Vnni, Isa::kAvxVnni));
  EXPECT_FALSE(isa_includes(Isa::kAvx2, Isa::kAvx512));
  EXPECT_TRUE(isa_includes(Isa::kAvx512Vnni, Isa::kAvx512));
  EXPECT_TRUE(isa_includes(Isa::kAmx, Isa::kAvx512Vnni));
  EXPECT_FALSE(isa_includes(Isa::kAmx, Isa::kAvxVnni));
  for (const Isa isa : all_isas()) {
    EXPECT_TRUE(isa_includes(isa, isa));
    EXPECT_TRUE(isa_includes(isa, Isa::kScalar));
    EXPECT_EQ(isa_includes(isa, Isa::kAvx2), isa != Isa::kScalar);
  }
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
  EXPECT_NE(result.status().message().find("scalar, avx2, avxvnni, avx512, avx512vnni, amx"),
            std::string::npos);
}

}  // namespace
}  // namespace minfer::cpu
