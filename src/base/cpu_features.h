// cpu_features: which instruction sets the processor has and the operating system has switched on.
//
// Invariants: on x86-64 a feature is reported only if CPUID lists it and XCR0 shows that the system
// saves the registers that it needs (a set CPUID bit alone faults on the first instruction). AMX
// also needs Linux's permission, which detect_cpu_features() asks for. Thread-safety: pure
// functions.
#pragma once

#include <cstdint>

namespace minfer {

struct CpuFeatures {
  bool avx = false;
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;  // F, BW, DQ and VL together
  bool avx512_vnni = false;
  bool avx_vnni = false;
  bool amx_int8 = false;  // TILE and INT8
  bool neon = false;      // arm64, as are the rest
  bool dotprod = false;
  bool i8mm = false;
};

/// Registers EAX, EBX, ECX, EDX after CPUID.
struct CpuidRegisters {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

/// Where the detector reads from; tests give their own.
struct CpuidSource {
  CpuidRegisters (*cpuid)(std::uint32_t leaf, std::uint32_t subleaf) = nullptr;
  /// XCR0; called only if CPUID says that the instruction may be used (OSXSAVE).
  std::uint64_t (*xcr0)() = nullptr;
};

/// The features that `source` describes (Intel SDM volume 1, 14.3 and 15.2-15.4).
CpuFeatures detect_cpu_features(const CpuidSource& source);

/// Those of an arm64 machine with the words AT_HWCAP and AT_HWCAP2 of Linux's auxiliary vector,
/// where the system lists what it has and allows.
CpuFeatures arm64_features(std::uint64_t hwcap, std::uint64_t hwcap2);

/// The features of this machine; none on other architectures than x86-64 and arm64.
CpuFeatures detect_cpu_features();

}  // namespace minfer
