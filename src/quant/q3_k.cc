#include "quant/q3_k.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {

Codes codes_of(const BlockQ3_K& block, int sub) {
  Codes codes;
  for (int k = 0; k < 32; ++k) {
    const int low = (block.qs[32 * (sub / 4) + k] >> (2 * (sub % 4))) & 3;
    const int high = (block.hmask[k] >> sub) & 1;
    codes.code[k] = static_cast<std::int8_t>((low | (high << 2)) - 4);
  }
  for (int h = 0; h < 2; ++h) {
    const int g = 2 * sub + h;
    const int low = (block.scales[g % 8] >> (4 * (g / 8))) & 15;
    const int high = (block.scales[8 + g % 4] >> (2 * (g / 4))) & 3;
    codes.scale[h] = static_cast<std::int8_t>((low | (high << 4)) - 32);
  }
  return codes;
}
float unit_of(const BlockQ3_K& block) { return f16_to_f32(block.d); }

namespace {

// Each peak gets code 0 (-4), and the group of the largest scale gets -32.
BlockQ3_K encode_block(const float* x) {
  float scale[16];
  for (int g = 0; g < 16; ++g) scale[g] = signed_peak({x + 16 * g, 16}) / -4.0f;
  BlockQ3_K block{};
  block.d = f32_to_f16(signed_peak(scale) / -32.0f);
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 16; ++g) {
    const int code = nearest_code(scale[g] * reciprocal(d), -32, 31);
    std::uint8_t& low = block.scales[g % 8];
    std::uint8_t& high = block.scales[8 + g % 4];
    low = static_cast<std::uint8_t>(low | (((code + 32) & 15) << (4 * (g / 8))));
    high = static_cast<std::uint8_t>(high | (((code + 32) >> 4) << (2 * (g / 4))));
    const float inverse = reciprocal(d * static_cast<float>(code));
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      const int q = nearest_code(x[i] * inverse, -4, 3) + 4;
      std::uint8_t& byte = block.qs[32 * (i / 128) + i % 32];
      byte = static_cast<std::uint8_t>(byte | ((q & 3) << (2 * (i % 128 / 32))));
      block.hmask[i % 32] = static_cast<std::uint8_t>(block.hmask[i % 32] | ((q >> 2) << (i / 32)));
    }
  }
  return block;
}

}  // namespace

void decode_q3_k(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockQ3_K>);
}
void encode_q3_k(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
