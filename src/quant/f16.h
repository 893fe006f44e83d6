// F16: IEEE binary16, little-endian, 2 bytes an element; encoding rounds to nearest even.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

/// Rows of n elements; see Codec.
void decode_f16(const std::byte* src, float* dst, std::int64_t n);
void encode_f16(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
