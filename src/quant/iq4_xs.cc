#include "quant/iq4_xs.h"

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/iq4_nl.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ4_XS& block, int sub) {
  const int low = (block.scales_l[sub / 2] >> (4 * (sub % 2))) & 15;
  const int high = (block.scales_h >> (2 * sub)) & 3;
  const auto scale = static_cast<std::int8_t>((low | (high << 4)) - 32);
  Codes codes{.code = {}, .scale = {scale, scale}};
  for (int i = 0; i < 16; ++i) {
    codes.code[i] = kLevelsIq4[low_nibble(block.qs[16 * sub + i])];
    codes.code[i + 16] = kLevelsIq4[high_nibble(block.qs[16 * sub + i])];
  }
  return codes;
}
float unit_of(const BlockIQ4_XS& block) { return f16_to_f32(block.d); }

namespace {

// Each peak gets the lowest level, and the group of the largest scale gets -32.
BlockIQ4_XS encode_block(const float* x) {
  float scale[8];
  for (int g = 0; g < 8; ++g) scale[g] = signed_peak({x + 32 * g, 32}) / -127.0f;
  BlockIQ4_XS block{};
  block.d = f32_to_f16(signed_peak(scale) / -32.0f);
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 8; ++g) {
    const int code = nearest_code(scale[g] * reciprocal(d), -32, 31);
    std::uint8_t& low = block.scales_l[g / 2];
    low = static_cast<std::uint8_t>(low | (((code + 32) & 15) << (4 * (g % 2))));
    block.scales_h = static_cast<std::uint16_t>(block.scales_h | (((code + 32) >> 4) << (2 * g)));
    const float inverse = reciprocal(d * static_cast<float>(code));
    for (int i = 0; i < 16; ++i) {
      const float* group = x + 32 * g;
      block.qs[16 * g + i] = pack_nibbles(nearest_level(group[i] * inverse, kLevelsIq4),
                                          nearest_level(group[i + 16] * inverse, kLevelsIq4));
    }
  }
  return block;
}

}  // namespace

void decode_iq4_xs(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockIQ4_XS>);
}
void encode_iq4_xs(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
