// Codec: how the elements of one type lie in memory, as a reference decoder and encoder.
//
// Owns: the table made of types.def, a row a type. Each <type>.h documents the byte layout.
// Invariants: decode_row gives the same bits on every machine and equals the format's definition;
// kernels are tested against it. encode_row writes every byte of every block.
// Thread-safety: constants and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace minfer::quant {

struct Codec {
  DType dtype;
  /// Decodes `n` elements, a multiple of the type's block, from `src` (row_size_bytes(dtype, n)
  /// bytes, any alignment) to `dst`.
  void (*decode_row)(const std::byte* src, float* dst, std::int64_t n);
  /// Encodes `n` finite elements, a multiple of the type's block, from `src` to `dst`
  /// (row_size_bytes(dtype, n) bytes, any alignment). Simple round-to-nearest quantisers, meant for
  /// tests and small tools; no search for the best scale.
  void (*encode_row)(const float* src, std::byte* dst, std::int64_t n);
};

/// The codec of `type`, or null where this build cannot decode it.
const Codec* codec(DType type);

/// Every codec, in the order of types.def.
std::span<const Codec> all_codecs();

}  // namespace minfer::quant
