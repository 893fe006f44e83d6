#include "plan/kv_geometry.h"

#include <fmt/format.h>

#include <algorithm>

namespace minfer::plan {
namespace {

constexpr std::uint64_t kStripAlignment = 64;

/// The group of `window`, appended if there is none yet.
std::int32_t group_of(std::vector<backend::KvGroup>& groups, std::int32_t window) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const backend::KvGroup& g) { return g.window == window; });
  if (found != groups.end()) return static_cast<std::int32_t>(found - groups.begin());
  groups.push_back({.window = window, .page_bytes = 0});
  return static_cast<std::int32_t>(groups.size() - 1);
}

}  // namespace

Result<backend::KvGeometry> make_kv_geometry(const backend::Backend& backend,
                                             backend::KvFormat format, std::int32_t n_ctx,
                                             std::span<const KvLayerShape> layers) {
  if (n_ctx < 1) return invalid_argument(fmt::format("n_ctx is {}; it must be positive", n_ctx));
  backend::KvGeometry geometry{.format = format, .n_ctx = n_ctx, .layers = {}, .groups = {}};
  geometry.layers.reserve(layers.size());
  for (const KvLayerShape& shape : layers) {
    if (shape.n_head_kv == 0) {
      geometry.layers.push_back({});
      continue;
    }
    if (format == backend::KvFormat::kQ8_0 && shape.head_dim % 32 != 0) {
      return unsupported(
          fmt::format("KV type q8_0 needs a head size that is a multiple of 32; this model's is {}",
                      shape.head_dim));
    }
    const std::int32_t group = group_of(geometry.groups, shape.window);
    std::uint64_t& page_bytes = geometry.groups[static_cast<std::size_t>(group)].page_bytes;
    backend::KvStrips strips = backend.kv_strips(format, shape.n_head_kv, shape.head_dim);
    strips.strip_bytes =
        (strips.strip_bytes + kStripAlignment - 1) / kStripAlignment * kStripAlignment;
    geometry.layers.push_back({.group = group,
                               .n_head_kv = shape.n_head_kv,
                               .head_dim = shape.head_dim,
                               .strips = strips,
                               .page_offset = page_bytes});
    page_bytes += strips.bytes();
  }
  return geometry;
}

Status require_same_region(const backend::KvGeometry& held, std::int32_t n_ctx,
                           backend::KvFormat format) {
  if (held.n_ctx == n_ctx && held.format == format) return ok_status();
  return invalid_argument(fmt::format(
      "the KV holds {} positions of {}; a graph for {} positions of {} cannot use it", held.n_ctx,
      backend::kv_format_name(held.format), n_ctx, backend::kv_format_name(format)));
}

}  // namespace minfer::plan
