#include "base/cpu_features.h"

#include <gtest/gtest.h>

namespace minfer {
namespace {

constexpr std::uint32_t bit(int index) { return 1u << index; }

std::uint32_t leaf1_ecx = 0;
std::uint32_t max_leaf = 7;
CpuidRegisters leaf7;
std::uint64_t xcr0_value = 0;
int n_xcr0_reads = 0;

CpuidRegisters fake_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  if (leaf == 0) return {.eax = max_leaf};
  if (leaf == 1) return {.ecx = leaf1_ecx};
  if (leaf == 7 && subleaf == 0) return leaf7;
  if (leaf == 7 && subleaf == 1) return {.eax = bit(4)};
  return {};
}
std::uint64_t fake_xcr0() {
  ++n_xcr0_reads;
  return xcr0_value;
}

/// A processor that lists everything; the tests then take things away.
CpuFeatures detect(std::uint64_t xcr0) {
  xcr0_value = xcr0;
  return detect_cpu_features({.cpuid = fake_cpuid, .xcr0 = fake_xcr0});
}
void list_everything() {
  max_leaf = 7;
  leaf1_ecx = bit(12) | bit(27) | bit(28) | bit(29);
  leaf7 = {.eax = 1,
           .ebx = bit(5) | bit(16) | bit(17) | bit(30) | bit(31),
           .ecx = bit(11),
           .edx = bit(24) | bit(25)};
}

TEST(CpuFeatures, EverythingOn) {
  list_everything();
  const CpuFeatures f = detect(0x600e7);
  EXPECT_TRUE(f.avx && f.avx2 && f.fma && f.f16c);
  EXPECT_TRUE(f.avx512 && f.avx512_vnni && f.avx_vnni && f.amx_int8);
}

TEST(CpuFeatures, AvxBitWithoutSavedStateIsNoAvx) {
  list_everything();
  const CpuFeatures f = detect(0x3);
  EXPECT_FALSE(f.avx || f.avx2 || f.fma || f.f16c || f.avx512 || f.avx_vnni || f.amx_int8);
}

TEST(CpuFeatures, Avx512BitsWithYmmStateOnlyIsNoAvx512) {
  list_everything();
  const CpuFeatures f = detect(0x7);
  EXPECT_TRUE(f.avx2 && f.fma && f.f16c);
  EXPECT_FALSE(f.avx512 || f.avx512_vnni || f.amx_int8);
}

TEST(CpuFeatures, AmxNeedsItsOwnState) {
  list_everything();
  EXPECT_FALSE(detect(0xe7).amx_int8);
  EXPECT_TRUE(detect(0xe7).avx512);
}

TEST(CpuFeatures, XgetbvIsNotRunWithoutOsxsave) {
  list_everything();
  leaf1_ecx &= ~bit(27);
  n_xcr0_reads = 0;
  EXPECT_FALSE(detect(0xe7).avx);
  EXPECT_EQ(n_xcr0_reads, 0);
}

TEST(CpuFeatures, Avx512NeedsAllFourParts) {
  for (int part : {16, 17, 30, 31}) {
    list_everything();
    leaf7.ebx &= ~bit(part);
    EXPECT_FALSE(detect(0xe7).avx512) << part;
    EXPECT_FALSE(detect(0xe7).avx512_vnni) << part;
  }
}

TEST(CpuFeatures, OldProcessorsAreNotAskedForLeaf7) {
  list_everything();
  max_leaf = 1;
  EXPECT_TRUE(detect(0x7).avx);
  EXPECT_FALSE(detect(0x7).avx2);
}

TEST(CpuFeatures, Arm64BitsOfTheAuxiliaryVector) {
  const CpuFeatures old = arm64_features(bit(1), 0);
  EXPECT_TRUE(old.neon);
  EXPECT_FALSE(old.dotprod || old.i8mm || old.avx2);
  const CpuFeatures n1 = arm64_features(bit(1) | bit(20), ~std::uint64_t{bit(13)});
  EXPECT_TRUE(n1.neon && n1.dotprod);
  EXPECT_FALSE(n1.i8mm);
  EXPECT_TRUE(arm64_features(bit(1) | bit(20), bit(13)).i8mm);
  EXPECT_FALSE(arm64_features(bit(20), bit(13)).i8mm);
}

}  // namespace
}  // namespace minfer
