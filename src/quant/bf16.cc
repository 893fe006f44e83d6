#include "quant/bf16.h"

#include "base/bytes.h"
#include "base/half.h"

namespace minfer::quant {

void decode_bf16(const std::byte* src, float* dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dst[i] = bf16_to_f32(load_le<std::uint16_t>(src + 2 * i));
}

void encode_bf16(const float* src, std::byte* dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) store_le(dst + 2 * i, f32_to_bf16(src[i]));
}

}  // namespace minfer::quant
