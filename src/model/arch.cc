#include "model/arch.h"

#include <fmt/format.h>

#include <string>

#include "base/printable.h"

namespace minfer::model {
namespace {

constexpr const Architecture* kArchitectures[] = {
#define MINFER_ARCH(name) &arch::name,
#include "model/archs.def"
#undef MINFER_ARCH
};

}  // namespace

Result<const Architecture*> find_architecture(std::string_view name) {
  std::string known;
  for (const Architecture* arch : kArchitectures) {
    if (arch->name == name) return arch;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", arch->name);
  }
  return unsupported(
      fmt::format("architecture \"{}\" is not supported; known: {}", printable(name, 40), known));
}

}  // namespace minfer::model
