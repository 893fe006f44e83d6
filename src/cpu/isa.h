// Instruction sets that kernels are written for, and which one this process uses.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/cpu_features.h"
#include "base/status.h"

namespace minfer::cpu {

/// In rising order: each includes the ones before it.
enum class Isa : std::uint8_t { kScalar, kAvx2 };

std::string_view isa_name(Isa isa);  // "scalar", "avx2"

/// The best set that this machine and its operating system support, or the one named by `forced`
/// (MINFER_ISA; empty: none). Errors: an unknown name, listing the known ones; a set that this
/// machine lacks, naming the missing feature.
Result<Isa> choose_isa(std::string_view forced);
/// The same for a machine with `features`.
Result<Isa> choose_isa(std::string_view forced, const CpuFeatures& features);

/// The first feature that `isa` needs and `features` lacks ("AVX2", "FMA", "F16C"), or empty.
std::string_view missing_feature(Isa isa, const CpuFeatures& features);

}  // namespace minfer::cpu
