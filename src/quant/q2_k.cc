#include "quant/q2_k.h"

#include <algorithm>

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {

Codes codes_of(const BlockQ2_K& block, int sub) {
  Codes codes;
  for (int k = 0; k < 32; ++k) {
    const int code = (block.qs[32 * (sub / 4) + k] >> (2 * (sub % 4))) & 3;
    codes.code[k] = static_cast<std::int8_t>(code);
  }
  for (int h = 0; h < 2; ++h) {
    codes.scale[h] = static_cast<std::int8_t>(low_nibble(block.scales[2 * sub + h]));
  }
  return codes;
}
float unit_of(const BlockQ2_K& block) { return f16_to_f32(block.d); }
Mins mins_of(const BlockQ2_K& block, int sub) {
  return {{static_cast<std::int8_t>(high_nibble(block.scales[2 * sub])),
           static_cast<std::int8_t>(high_nibble(block.scales[2 * sub + 1]))}};
}
float min_unit_of(const BlockQ2_K& block) { return f16_to_f32(block.dmin); }

namespace {

void decode_block(const BlockQ2_K& block, float* x) {
  decode_codes<8>(block, x);
  for (int g = 0; g < 16; ++g) {
    const float min = min_unit_of(block) * static_cast<float>(high_nibble(block.scales[g]));
    for (int i = 16 * g; i < 16 * g + 16; ++i) x[i] -= min;
  }
}

// Ranges are stretched to hold 0, as minimums are non-negative numbers that are subtracted.
BlockQ2_K encode_block(const float* x) {
  float scale[16];
  float low[16];
  for (int g = 0; g < 16; ++g) {
    const Range range = range_of({x + 16 * g, 16});
    low[g] = std::max(0.0f, -range.min);
    scale[g] = (std::max(0.0f, range.max) + low[g]) / 3.0f;
  }
  BlockQ2_K block{};
  block.d = f32_to_f16(*std::max_element(scale, scale + 16) / 15.0f);
  block.dmin = f32_to_f16(*std::max_element(low, low + 16) / 15.0f);
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int g = 0; g < 16; ++g) {
    const int scale_code = nearest_code(scale[g] * reciprocal(d), 0, 15);
    const int min_code = nearest_code(low[g] * reciprocal(dmin), 0, 15);
    block.scales[g] = pack_nibbles(scale_code, min_code);
    const float inverse = reciprocal(d * static_cast<float>(scale_code));
    const float offset = dmin * static_cast<float>(min_code);
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      std::uint8_t& byte = block.qs[32 * (i / 128) + i % 32];
      const int q = nearest_code((x[i] + offset) * inverse, 0, 3);
      byte = static_cast<std::uint8_t>(byte | (q << (2 * (i % 128 / 32))));
    }
  }
  return block;
}

}  // namespace

void decode_q2_k(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_block);
}
void encode_q2_k(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
