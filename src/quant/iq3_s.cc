#include "quant/iq3_s.h"

#include <algorithm>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/grids.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ3_S& block, int sub) {
  const int code = (block.scales[sub / 2] >> (4 * (sub % 2))) & 15;
  const auto scale = static_cast<std::int8_t>(2 * code + 1);
  Codes codes{.code = {}, .scale = {scale, scale}};
  for (int j = 0; j < 8; ++j) {
    const unsigned entry = block.qs[8 * sub + j] | (((block.qh[sub] >> j) & 1u) << 8);
    signed_elements(kGridIq3S.entry[entry], block.signs[4 * sub + j / 2] >> (4 * (j % 2)),
                    codes.code + 4 * j);
  }
  return codes;
}
float unit_of(const BlockIQ3_S& block) { return f16_to_f32(block.d); }

namespace {

BlockIQ3_S encode_block(const float* x) {
  static const GridSearch search(kGridIq3S);
  float scale[8];
  for (int g = 0; g < 8; ++g) scale[g] = std::fabs(signed_peak({x + 32 * g, 32})) / 15.0f;
  BlockIQ3_S block{};
  block.d = f32_to_f16(*std::max_element(scale, scale + 8) / 31.0f);
  const float unit = unit_of(block);
  for (int g = 0; g < 8; ++g) {
    const int code = odd_scale_code(scale[g], unit, 15);
    const float inverse = reciprocal(unit * static_cast<float>(2 * code + 1));
    std::uint8_t& scales = block.scales[g / 2];
    scales = static_cast<std::uint8_t>(scales | (code << (4 * (g % 2))));
    for (int j = 0; j < 4; ++j) {
      const SignedGroup group = split_signs(x + 32 * g + 8 * j, false);
      block.signs[4 * g + j] = group.signs;
      for (int h = 0; h < 2; ++h) {
        const unsigned entry = search.nearest(group.magnitude + 4 * h, inverse);
        block.qs[8 * g + 2 * j + h] = static_cast<std::uint8_t>(entry & 0xffu);
        block.qh[g] = static_cast<std::uint8_t>(block.qh[g] | ((entry >> 8) << (2 * j + h)));
      }
    }
  }
  return block;
}

}  // namespace

void decode_iq3_s(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockIQ3_S>);
}
void encode_iq3_s(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
