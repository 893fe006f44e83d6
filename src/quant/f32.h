// F32: IEEE binary32, little-endian, 4 bytes an element.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

/// Rows of n elements; see Codec.
void decode_f32(const std::byte* src, float* dst, std::int64_t n);
void encode_f32(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
