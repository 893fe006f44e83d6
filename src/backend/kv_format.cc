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

std::uint64_t packed_kv_row_bytes(KvFormat format, std::int32_t n_head_kv, std::int32_t head_dim) {
  const auto n = static_cast<std::uint64_t>(n_head_kv) * static_cast<std::uint64_t>(head_dim) * 2;
  switch (format) {
    case KvFormat::kF32:
      return n * 4;
    case KvFormat::kF16:
      return n * 2;
    case KvFormat::kQ8_0:
      break;
  }
  return n + n / 32 * 2;
}

Status Backend::pack_kv_rows(const KvGeometry& /*geometry*/, const KvLayer& /*layer*/,
                             const std::byte* /*group_base*/, std::int32_t /*page*/,
                             std::int32_t /*row*/, std::int32_t /*n*/,
                             std::span<std::byte> /*to*/) const {
  return unsupported(fmt::format("backend {} does not hand out rows of its KV", name()));
}

Status Backend::unpack_kv_rows(const KvGeometry& /*geometry*/, const KvLayer& /*layer*/,
                               std::byte* /*group_base*/, std::int32_t /*page*/,
                               std::int32_t /*row*/, std::int32_t /*n*/, std::int32_t /*n_packed*/,
                               std::span<const std::byte> /*from*/) const {
  return unsupported(fmt::format("backend {} does not take rows of KV", name()));
}

}  // namespace minfer::backend
