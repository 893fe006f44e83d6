#include "backend/known_backends.h"

#include <fmt/format.h>

#include <string>

namespace minfer::backend {
namespace {

constexpr KnownBackend kKnown[] = {
#define MINFER_BACKEND(name, available) {#name, available},
#include "backend/backends.def"
#undef MINFER_BACKEND
};

}  // namespace

std::span<const KnownBackend> known_backends() { return kKnown; }

Status check_backend_name(std::string_view name) {
  std::string in_build;
  for (const KnownBackend& known : kKnown) {
    if (known.available) {
      if (known.name == name) return ok_status();
      if (!in_build.empty()) in_build += ", ";
      in_build += known.name;
    }
  }
  for (const KnownBackend& known : kKnown) {
    if (known.name == name) {
      return unsupported(
          fmt::format("the {} backend is not in this build, which has {}", name, in_build));
    }
  }
  return invalid_argument(fmt::format("\"{}\" is no backend; this build has {}", name, in_build));
}

}  // namespace minfer::backend
