// kv_geometry: lays the layers of a model out in the pages of their groups.
//
// Invariants: layers with the same window share a group, groups stand in the order of their first
// layer; strips start on 64-byte boundaries.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "base/status.h"

namespace minfer::plan {

/// What one layer keeps of every position.
struct KvLayerShape {
  std::int32_t n_head_kv = 0;  // 0: the layer keeps nothing (a recurrent one)
  std::int32_t head_dim = 0;
  std::int32_t window = 0;  // positions a token sees, itself included; 0: all
};

/// The geometry of the KV of `layers`, with page sizes of `backend`. kInvalidArgument: n_ctx is not
/// positive; kUnsupported: q8_0 with a head size that is no multiple of 32.
Result<backend::KvGeometry> make_kv_geometry(const backend::Backend& backend,
                                             backend::KvFormat format, std::int32_t n_ctx,
                                             std::span<const KvLayerShape> layers);

/// OK if `wanted` has the size and format of `held`; else an error that says what was asked for.
Status require_same_region(const backend::KvGeometry& held, std::int32_t n_ctx,
                           backend::KvFormat format);

}  // namespace minfer::plan
