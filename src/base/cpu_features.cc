#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace minfer {
namespace {

bool bit(std::uint64_t word, int index) { return ((word >> index) & 1u) != 0; }

}  // namespace

CpuFeatures detect_cpu_features(const CpuidSource& source) {
  CpuFeatures features;
  const std::uint32_t max_leaf = source.cpuid(0, 0).eax;
  if (max_leaf < 1) return features;
  const CpuidRegisters leaf1 = source.cpuid(1, 0);
  const bool os_saves_state = bit(leaf1.ecx, 27);
  if (!os_saves_state) return features;

  constexpr std::uint64_t kAvxState = 0x6;      // XMM, upper halves of YMM
  constexpr std::uint64_t kAvx512State = 0xe6;  // and masks, upper halves of ZMM, ZMM16-31
  constexpr std::uint64_t kAmxState = 0x60000;  // tile configuration and data
  const std::uint64_t state = source.xcr0();
  if ((state & kAvxState) != kAvxState) return features;

  features.avx = bit(leaf1.ecx, 28);
  if (!features.avx) return features;
  features.fma = bit(leaf1.ecx, 12);
  features.f16c = bit(leaf1.ecx, 29);
  if (max_leaf < 7) return features;

  const CpuidRegisters leaf7 = source.cpuid(7, 0);
  features.avx2 = bit(leaf7.ebx, 5);
  if (leaf7.eax >= 1) features.avx_vnni = bit(source.cpuid(7, 1).eax, 4);
  if ((state & kAvx512State) == kAvx512State) {
    features.avx512 =
        bit(leaf7.ebx, 16) && bit(leaf7.ebx, 17) && bit(leaf7.ebx, 30) && bit(leaf7.ebx, 31);
    features.avx512_vnni = features.avx512 && bit(leaf7.ecx, 11);
  }
  if ((state & kAmxState) == kAmxState) {
    features.amx_int8 = bit(leaf7.edx, 24) && bit(leaf7.edx, 25);
  }
  return features;
}

CpuFeatures arm64_features(std::uint64_t hwcap, std::uint64_t hwcap2) {
  CpuFeatures features;
  features.neon = bit(hwcap, 1);                        // ASIMD
  features.dotprod = features.neon && bit(hwcap, 20);   // ASIMDDP
  features.i8mm = features.dotprod && bit(hwcap2, 13);  // I8MM
  return features;
}

#if defined(__x86_64__)
namespace {

CpuidRegisters read_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidRegisters r;
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

std::uint64_t read_xcr0() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// Asks Linux to keep the tile registers of this process (arch_prctl, since 5.16); every thread may
/// use them after the first grant.
bool tiles_permitted() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // component of XCR0
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

CpuFeatures detect_cpu_features() {
  CpuFeatures features = detect_cpu_features({.cpuid = read_cpuid, .xcr0 = read_xcr0});
  features.amx_int8 = features.amx_int8 && tiles_permitted();
  return features;
}
#elif defined(__aarch64__)
CpuFeatures detect_cpu_features() {
  return arm64_features(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}
#else
CpuFeatures detect_cpu_features() { return {}; }
#endif

}  // namespace minfer
