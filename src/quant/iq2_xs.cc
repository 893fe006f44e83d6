#include "quant/iq2_xs.h"

#include <algorithm>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/grids.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ2_XS& block, int sub) {
  Codes codes;
  codes.scale[0] = static_cast<std::int8_t>(2 * low_nibble(block.scales[sub]) + 1);
  codes.scale[1] = static_cast<std::int8_t>(2 * high_nibble(block.scales[sub]) + 1);
  for (int j = 0; j < 4; ++j) {
    const unsigned q = block.qs[4 * sub + j];
    signed_elements(kGridIq2Xs.entry[q & 511u], even_signs(q >> 9), codes.code + 8 * j);
  }
  return codes;
}
float unit_of(const BlockIQ2_XS& block) { return f16_to_f32(block.d) / 8.0f; }

namespace {

BlockIQ2_XS encode_block(const float* x) {
  static const GridSearch search(kGridIq2Xs);
  float scale[16];
  for (int g = 0; g < 16; ++g) scale[g] = std::fabs(signed_peak({x + 16 * g, 16})) / 43.0f;
  BlockIQ2_XS block{};
  block.d = f32_to_f16(*std::max_element(scale, scale + 16) * (8.0f / 31.0f));
  const float unit = unit_of(block);
  for (int g = 0; g < 16; ++g) {
    const int code = odd_scale_code(scale[g], unit, 15);
    const float inverse = reciprocal(unit * static_cast<float>(2 * code + 1));
    std::uint8_t& scales = block.scales[g / 2];
    scales = static_cast<std::uint8_t>(scales | (code << (4 * (g % 2))));
    for (int j = 2 * g; j < 2 * g + 2; ++j) {
      const SignedGroup group = split_signs(x + 8 * j, true);
      const unsigned entry = search.nearest(group.magnitude, inverse);
      block.qs[j] = static_cast<std::uint16_t>(entry | ((group.signs & 0x7fu) << 9));
    }
  }
  return block;
}

}  // namespace

void decode_iq2_xs(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockIQ2_XS>);
}
void encode_iq2_xs(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
