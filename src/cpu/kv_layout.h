// The inside of a KV page: where one layer's K and V of 64 positions lie.
//
// Owns: the layout, which is the CPU's own. A strip of a page is a KV head of a layer; it holds,
// each part starting at a multiple of 64 bytes:
//   K   [head_dim][64]           elements, the positions innermost: a score is one chain over d in
//                                every lane, with no sum across lanes
//   Kd  [head_dim / 32][64] f16  scales, q8_0 only
//   V   [64][v_stride]           elements, the head innermost, v_stride = head_dim to whole lanes
//   Vd  [64][head_dim / 32] f16  scales, q8_0 only
// Elements are f32, f16, or int8 (q8_0: value = scale * element, blocks of 32 along the head).
// Thread-safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "base/status.h"
#include "cpu/isa.h"

namespace minfer::cpu {

struct KvHeadLayout {
  backend::KvFormat format{};
  std::int32_t head_dim = 0;
  std::int32_t v_stride = 0;  // elements
  // Bytes from the start of the head.
  std::uint64_t k_scales = 0;
  std::uint64_t v = 0;
  std::uint64_t v_scales = 0;
  std::uint64_t bytes = 0;  // of the head
};

KvHeadLayout kv_head_layout(backend::KvFormat format, std::int32_t head_dim);

/// OK if heads of `head_dim` can be kept in `format`: q8_0 needs whole blocks of 32.
Status check_kv_format(backend::KvFormat format, std::int32_t head_dim);

/// Rounds k and v (head_dim floats each) into row `row` of the head at `head`.
void kv_store_head(Isa isa, const KvHeadLayout& layout, std::byte* head, std::int32_t row,
                   const float* k, const float* v);

/// K and V of row `row` of the head at `head`, widened to head_dim floats each.
void kv_read_head(const KvHeadLayout& layout, const std::byte* head, std::int32_t row, float* k,
                  float* v);

/// Copies rows [row, row + n) of the head at `head` to the packed form of backend::Backend at `to`;
/// the result is where that ends.
std::byte* kv_pack_head(const KvHeadLayout& layout, const std::byte* head, std::int32_t row,
                        std::int32_t n, std::byte* to);
/// Makes the first n of the `n_packed` rows at `from` rows [row, row + n) of the head at `head`;
/// the result is where the packed head ends.
const std::byte* kv_unpack_head(const KvHeadLayout& layout, std::byte* head, std::int32_t row,
                                std::int32_t n, std::int32_t n_packed, const std::byte* from);

/// Rows [begin, end) of the head at `head` widened to F32: k_to [head_dim][64] and
/// v_to [64][v_stride]. K is widened in whole lanes, so k_to may get garbage beside the range. F32
/// is copied too: kernels walk a page several times, which a cache serves better than memory.
void kv_widen_head(Isa isa, const KvHeadLayout& layout, const std::byte* head, std::int32_t begin,
                   std::int32_t end, float* k_to, float* v_to);

}  // namespace minfer::cpu
