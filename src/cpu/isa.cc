#include "cpu/isa.h"

#include <fmt/format.h>

#include <string>

namespace minfer::cpu {
namespace {

struct IsaRow {
  std::string_view name;
  std::string_view title;
};
constexpr IsaRow kRows[kIsaCount] = {
    // in the order of Isa
    {"scalar", "scalar"},
    {"avx2", "AVX2"},
    {"avxvnni", "AVX-VNNI"},
    {"avx512", "AVX-512"},
    {"avx512vnni", "AVX-512 VNNI"},
    {"amx", "AMX int8"},
    {"neon", "NEON"},
    {"dotprod", "NEON dotprod"},
    {"i8mm", "NEON i8mm"},
};

/// What `isa` needs beside the set below it.
std::string_view missing_here(Isa isa, const CpuFeatures& features) {
  switch (isa) {
    case Isa::kScalar:
      return {};
    case Isa::kAvx2:
      if (!features.avx2) return "AVX2";
      if (!features.fma) return "FMA";
      return features.f16c ? std::string_view{} : "F16C";
    case Isa::kAvxVnni:
      return features.avx_vnni ? std::string_view{} : "AVX-VNNI";
    case Isa::kAvx512:
      return features.avx512 ? std::string_view{} : "AVX-512 F, BW, DQ, VL";
    case Isa::kAvx512Vnni:
      return features.avx512_vnni ? std::string_view{} : "AVX-512 VNNI";
    case Isa::kAmx:
      return features.amx_int8 ? std::string_view{} : "AMX int8";
    case Isa::kNeon:
      return features.neon ? std::string_view{} : "NEON";
    case Isa::kDotprod:
      return features.dotprod ? std::string_view{} : "NEON dotprod";
    case Isa::kI8mm:
      return features.i8mm ? std::string_view{} : "NEON i8mm";
  }
  return {};
}

}  // namespace

std::span<const Isa> all_isas() {
  static constexpr Isa kOrder[kIsaCount] = {
      Isa::kScalar,     Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512,  // in the order of Isa
      Isa::kAvx512Vnni, Isa::kAmx,  Isa::kNeon,    Isa::kDotprod, Isa::kI8mm};
  return kOrder;
}

std::string_view isa_name(Isa isa) { return kRows[static_cast<int>(isa)].name; }
std::string_view isa_title(Isa isa) { return kRows[static_cast<int>(isa)].title; }

std::string_view missing_feature(Isa isa, const CpuFeatures& features) {
  if (isa == Isa::kScalar) return {};
  const std::string_view below = missing_feature(isa_below(isa), features);
  return below.empty() ? missing_here(isa, features) : below;
}

Result<Isa> choose_isa(std::string_view forced, const CpuFeatures& features) {
  Isa best = Isa::kScalar;
  std::string known;
  std::string usable;
  for (Isa isa : all_isas()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", isa_name(isa));
    if (!missing_feature(isa, features).empty()) continue;
    usable += fmt::format("{}{}", usable.empty() ? "" : ", ", isa_name(isa));
    best = isa;
  }
  if (forced.empty()) return best;
  for (Isa isa : all_isas()) {
    if (isa_name(isa) != forced) continue;
    const std::string_view missing = missing_feature(isa, features);
    if (missing.empty()) return isa;
    return unsupported(
        fmt::format("MINFER_ISA={}: this machine (or its operating system) has no {}; it has {}",
                    forced, missing, usable));
  }
  return invalid_argument(
      fmt::format("MINFER_ISA={}: unknown instruction set; known: {}", forced, known));
}

Result<Isa> choose_isa(std::string_view forced) {
  return choose_isa(forced, detect_cpu_features());
}

}  // namespace minfer::cpu
