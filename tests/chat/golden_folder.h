// Where the golden data of templates lies.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace minfer::chat {

inline std::filesystem::path golden_templates() {
  if (const char* named = std::getenv("MINFER_GOLDEN_DIR"))
    return std::filesystem::path(named) / "templates";
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / "../shared/golden/templates";
}

}  // namespace minfer::chat
