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
constexpr CpuFeatures kCortexA53 = {.neon = true};
constexpr CpuFeatures kNeoverseN1 = {.neon = true, .dotprod = true};
constexpr CpuFeatures kNeoverseV1 = {.neon = true, .dotprod = true, .i8mm = true};

bool is_arm64(Isa isa) { return isa_includes(isa, Isa::kNeon); }

TEST(ChooseIsa, BestThatTheMachineHas) {
  EXPECT_EQ(choose_isa("", CpuFeatures{}).value(), Isa::kScalar);
  EXPECT_EQ(choose_isa("", kHaswell).value(), Isa::kAvx2);
  EXPECT_EQ(choose_isa("", alder_lake()).value(), Isa::kAvxVnni);
  EXPECT_EQ(choose_isa("", skylake_x()).value(), Isa::kAvx512);
  EXPECT_EQ(choose_isa("", ice_lake()).value(), Isa::kAvx512Vnni);
  EXPECT_EQ(choose_isa("", sapphire_rapids()).value(), Isa::kAmx);
  EXPECT_EQ(choose_isa("", kAll).value(), Isa::kAmx);
  EXPECT_EQ(choose_isa("", kCortexA53).value(), Isa::kNeon);
  EXPECT_EQ(choose_isa("", kNeoverseN1).value(), Isa::kDotprod);
  EXPECT_EQ(choose_isa("", kNeoverseV1).value(), Isa::kI8mm);
}

TEST(ChooseIsa, EverySetByItsName) {
  for (const Isa isa : all_isas()) {
    const CpuFeatures& features = is_arm64(isa) ? kNeoverseV1 : kAll;
    EXPECT_EQ(choose_isa(isa_name(isa), features).value(), isa);
  }
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
    EXPECT_EQ(isa_includes(isa, Isa::kAvx2), isa != Isa::kScalar && !is_arm64(isa));
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
  EXPECT_NE(result.status().message().find("no F16C; it has scalar"), std::string::npos);
  EXPECT_NE(choose_isa("amx", ice_lake())
                .status()
                .message()
                .find("no AMX int8; it has scalar, avx2, avx512, avx512vnni"),
            std::string::npos);
  EXPECT_NE(choose_isa("i8mm", kNeoverseN1)
                .status()
                .message()
                .find("no NEON i8mm; it has scalar, neon, dotprod"),
            std::string::npos);
}

TEST(ChooseIsa, UnknownNameListsTheKnown) {
  const auto result = choose_isa("avx3", kAll);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("known: scalar, avx2, avxvnni, avx512, avx512vnni, amx, "
                                           "neon, dotprod, i8mm"),
            std::string::npos);
}

}  // namespace
}  // namespace minfer::cpu
