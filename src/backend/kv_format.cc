#include <fmt/format.h>

#include <array>

#include "backend/backend.h"

namespace minfer::backend {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"f32", "f16", "q8_0"};

}  // namespace

std::string_view kv_format_name(KvFormat format) {
  return kNames[static_cast<std::size_t>(format)];
}

Result<KvFormat> kv_format_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<KvFormat>(i);
  }
  return invalid_argument(
      fmt::format("\"{}\" is no KV type; known are {}", name, fmt::join(kNames, ", ")));
}

}  // namespace minfer::backend
