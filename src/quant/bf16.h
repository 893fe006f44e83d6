// BF16: the upper half of a binary32, little-endian, 2 bytes an element; encoding rounds to
// nearest even.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

/// Rows of n elements; see Codec.
void decode_bf16(const std::byte* src, float* dst, std::int64_t n);
void encode_bf16(const float* src, std::byte* dst, std::int64_t n);

}  // namespace minfer::quant
