#include "quant/f32.h"

#include <cstring>

namespace minfer::quant {

void decode_f32(const std::byte* src, float* dst, std::int64_t n) {
  std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(float));
}

void encode_f32(const float* src, std::byte* dst, std::int64_t n) {
  std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(float));
}

}  // namespace minfer::quant
