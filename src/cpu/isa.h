// Instruction sets that kernels are written for, and which one this process uses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu_features.h"
#include "base/status.h"

namespace minfer::cpu {

/// Those of one architecture in rising order of speed. Not each includes the ones before it:
/// isa_below().
enum class Isa : std::uint8_t {
  kScalar,
  // x86-64
  kAvx2,
  kAvxVnni,
  kAvx512,
  kAvx512Vnni,
  kAmx,
  // arm64
  kNeon,
  kDotprod,
  kI8mm,
};
inline constexpr int kIsaCount = 9;

/// The set that `isa` extends, where a family without kernels for `isa` looks next; the scalar
/// set's is itself. (AVX-512 came to processors before AVX-VNNI, and does not include it.)
constexpr Isa isa_below(Isa isa) {
  constexpr Isa kBelow[kIsaCount] = {Isa::kScalar, Isa::kScalar, Isa::kAvx2,
                                     Isa::kAvx2,   Isa::kAvx512, Isa::kAvx512Vnni,
                                     Isa::kScalar, Isa::kNeon,   Isa::kDotprod};
  return kBelow[static_cast<int>(isa)];
}
/// True if a machine that has `isa` has `other`.
constexpr bool isa_includes(Isa isa, Isa other) {
  while (isa > other) isa = isa_below(isa);
  return isa == other;
}

std::span<const Isa> all_isas();      // of every architecture, in the order of Isa
std::string_view isa_name(Isa isa);   // for MINFER_ISA: "scalar", "avx2", "avxvnni", ...
std::string_view isa_title(Isa isa);  // for people: "scalar", "AVX2", "AVX-VNNI", ...

/// The best set that this machine and its operating system support, or the one named by `forced`
/// (MINFER_ISA; empty: none). Errors: an unknown name, listing the known ones; a set that this
/// machine lacks, naming the missing feature and the sets that there are.
Result<Isa> choose_isa(std::string_view forced);
/// The same for a machine with `features`.
Result<Isa> choose_isa(std::string_view forced, const CpuFeatures& features);

/// The first feature that `isa` needs and `features` lacks ("AVX2", "FMA", "F16C", "AVX-512 F, BW,
/// DQ, VL", ...), or empty.
std::string_view missing_feature(Isa isa, const CpuFeatures& features);

}  // namespace minfer::cpu
