// Where the golden data of templates lies, and its files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace minfer::chat {

inline std::filesystem::path golden_templates() {
  if (const char* named = std::getenv("MINFER_GOLDEN_DIR"))
    return std::filesystem::path(named) / "templates";
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / "../shared/golden/templates";
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace minfer::chat
