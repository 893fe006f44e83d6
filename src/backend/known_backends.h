// The backends that minfer knows by name, from backends.def.
//
// Owns: the list. Which of them a process makes is the business of engine/.
// Thread-safety: constants.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"

namespace minfer::backend {

struct KnownBackend {
  std::string_view name;
  bool available = false;  // in this build
};

/// In the order of backends.def.
std::span<const KnownBackend> known_backends();

/// OK if `name` is a backend of this build. kInvalidArgument for an unknown name, kUnsupported for
/// one that this build leaves out; both messages list what the build has.
Status check_backend_name(std::string_view name);

}  // namespace minfer::backend
