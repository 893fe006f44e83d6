#include "quant/q6_k.h"

#include <algorithm>

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ6_K& block, float* x) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int part = i % 128 / 32;
    const std::uint8_t byte = block.ql[64 * half + 32 * (part % 2) + i % 32];
    const int low = part < 2 ? low_nibble(byte) : high_nibble(byte);
    const int high = (block.qh[32 * half + i % 32] >> (2 * part)) & 3;
    x[i] =
        d * static_cast<float>(block.scales[i / 16]) * static_cast<float>((low | high << 4) - 32);
  }
}

void store_code(BlockQ6_K& block, int i, int q) {
  const int half = i / 128;
  const int part = i % 128 / 32;
  std::uint8_t& low = block.ql[64 * half + 32 * (part % 2) + i % 32];
  std::uint8_t& high = block.qh[32 * half + i % 32];
  low = static_cast<std::uint8_t>(low | ((q & 0x0f) << (part < 2 ? 0 : 4)));
  high = static_cast<std::uint8_t>(high | ((q >> 4) << (2 * part)));
}

// Each group's peak gets code 0 (-32), and the group of the largest scale gets -128.
BlockQ6_K encode_block(const float* x) {
  float scale[16];
  for (int g = 0; g < 16; ++g) scale[g] = signed_peak({x + 16 * g, 16}) / -32.0f;
  BlockQ6_K block{};
  block.d = f32_to_f16(signed_peak(scale) / -128.0f);
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 16; ++g) {
    const int code = nearest_code(scale[g] * reciprocal(d), -128, 127);
    block.scales[g] = static_cast<std::int8_t>(code);
    const float inverse = reciprocal(d * static_cast<float>(code));
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      store_code(block, i, nearest_code(x[i] * inverse, -32, 31) + 32);
    }
  }
  return block;
}

}  // namespace

void decode_q6_k(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_block);
}
void encode_q6_k(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
