#include "cpu/isa.h"

#include <fmt/format.h>

namespace minfer::cpu {

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
  }
  return "?";
}

std::string_view missing_feature(Isa isa, const CpuFeatures& features) {
  if (isa == Isa::kAvx2) {
    if (!features.avx2) return "AVX2";
    if (!features.fma) return "FMA";
    if (!features.f16c) return "F16C";
  }
  return {};
}

Result<Isa> choose_isa(std::string_view forced, const CpuFeatures& features) {
  constexpr Isa kRising[] = {Isa::kScalar, Isa::kAvx2};
  if (forced.empty()) {
    Isa best = Isa::kScalar;
    for (Isa isa : kRising) {
      if (missing_feature(isa, features).empty()) best = isa;
    }
    return best;
  }
  for (Isa isa : kRising) {
    if (isa_name(isa) != forced) continue;
    const std::string_view missing = missing_feature(isa, features);
    if (missing.empty()) return isa;
    return unsupported(fmt::format(
        "MINFER_ISA={}: this machine (or its operating system) has no {}", forced, missing));
  }
  return invalid_argument(
      fmt::format("MINFER_ISA={}: unknown instruction set; known: scalar, avx2", forced));
}

Result<Isa> choose_isa(std::string_view forced) {
  return choose_isa(forced, detect_cpu_features());
}

}  // namespace minfer::cpu
