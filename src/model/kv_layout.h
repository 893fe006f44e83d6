// kv_layout: which layers share a KV page.
//
// Layers with the same window form a group: their rows live and die together, so one page table
// serves them all, and sliding-window groups may give pages back.
// Thread-safety: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "model/hparams.h"

namespace minfer::model {

/// The group of each layer; groups are numbered in the order in which their windows first occur, as
/// plan::make_kv_geometry numbers them.
std::vector<std::int32_t> group_layers(const HParams& hp);

/// plan::make_kv_geometry for these layers.
Result<backend::KvGeometry> make_kv_geometry(const HParams& hp, const backend::Backend& backend,
                                             backend::KvFormat format, std::int32_t n_ctx);

/// Bytes of one position over all layers, rounded up.
std::uint64_t kv_bytes_per_position(const HParams& hp, const backend::Backend& backend,
                                    backend::KvFormat format);

}  // namespace minfer::model
