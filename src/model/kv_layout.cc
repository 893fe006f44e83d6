#include "model/kv_layout.h"

#include <algorithm>

#include "plan/kv_geometry.h"

namespace minfer::model {

std::vector<std::int32_t> group_layers(const HParams& hp) {
  std::vector<std::int32_t> windows;
  std::vector<std::int32_t> group_of_layer;
  for (const LayerHParams& layer : hp.layers) {
    const auto at = std::find(windows.begin(), windows.end(), layer.window);
    group_of_layer.push_back(static_cast<std::int32_t>(at - windows.begin()));
    if (at == windows.end()) windows.push_back(layer.window);
  }
  return group_of_layer;
}

Result<backend::KvGeometry> make_kv_geometry(const HParams& hp, const backend::Backend& backend,
                                             backend::KvFormat format, std::int32_t n_ctx) {
  std::vector<plan::KvLayerShape> shapes;
  shapes.reserve(hp.layers.size());
  for (const LayerHParams& layer : hp.layers) {
    shapes.push_back({layer.n_head_kv, hp.head_dim, layer.window});
  }
  return plan::make_kv_geometry(backend, format, n_ctx, shapes);
}

std::uint64_t kv_bytes_per_position(const HParams& hp, const backend::Backend& backend,
                                    backend::KvFormat format) {
  std::uint64_t page_bytes = 0;
  for (const LayerHParams& layer : hp.layers) {
    page_bytes += backend.kv_strips(format, layer.n_head_kv, hp.head_dim).bytes();
  }
  return (page_bytes + backend::kPageRows - 1) / backend::kPageRows;
}

}  // namespace minfer::model
