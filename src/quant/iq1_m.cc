#include "quant/iq1_m.h"

#include <algorithm>
#include <numeric>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/grids.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ1_M& block, int sub) {
  Codes codes;
  for (int h = 0; h < 2; ++h) {
    const unsigned word = block.scales[sub / 2];
    codes.scale[h] = static_cast<std::int8_t>(2 * ((word >> (3 * (2 * (sub % 2) + h))) & 7u) + 1);
  }
  for (int j = 0; j < 4; ++j) {
    const unsigned high = block.qh[2 * sub + j / 2] >> (4 * (j % 2));
    const int shift = (high & 8u) != 0 ? -1 : 1;
    signed_elements(kGridIq1S.entry[block.qs[4 * sub + j] | ((high & 7u) << 8)], 0,
                    codes.code + 8 * j);
    for (int k = 8 * j; k < 8 * j + 8; ++k) {
      codes.code[k] = static_cast<std::int8_t>(codes.code[k] + shift);
    }
  }
  return codes;
}
float unit_of(const BlockIQ1_M& block) {
  unsigned d = 0;
  for (int w = 0; w < 4; ++w) d |= (block.scales[w] >> 12u) << (4 * w);
  return f16_to_f32(static_cast<std::uint16_t>(d)) / 8.0f;
}

namespace {

// The shift follows the sign of the sum of its 8 elements.
BlockIQ1_M encode_block(const float* x) {
  static const GridSearch search(kGridIq1S);
  float scale[16];
  for (int g = 0; g < 16; ++g) scale[g] = std::fabs(signed_peak({x + 16 * g, 16})) / 9.0f;
  BlockIQ1_M block{};
  const unsigned d = f32_to_f16(*std::max_element(scale, scale + 16) * (8.0f / 15.0f));
  for (int w = 0; w < 4; ++w) {
    block.scales[w] = static_cast<std::uint16_t>(((d >> (4 * w)) & 15u) << 12);
  }
  const float unit = unit_of(block);
  for (int g = 0; g < 16; ++g) {
    const int code = odd_scale_code(scale[g], unit, 7);
    const float inverse = reciprocal(unit * static_cast<float>(2 * code + 1));
    std::uint16_t& word = block.scales[g / 4];
    word = static_cast<std::uint16_t>(word | (code << (3 * (g % 4))));
    for (int h = 0; h < 2; ++h) {
      const float* from = x + 16 * g + 8 * h;
      const unsigned entry = search.nearest(from, inverse);
      const bool down = std::accumulate(from, from + 8, 0.0f) < 0.0f;
      block.qs[2 * g + h] = static_cast<std::uint8_t>(entry & 0xffu);
      block.qh[g] =
          static_cast<std::uint8_t>(block.qh[g] | (((entry >> 8) | (down ? 8u : 0u)) << (4 * h)));
    }
  }
  return block;
}

}  // namespace

void decode_iq1_m(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockIQ1_M>);
}
void encode_iq1_m(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
