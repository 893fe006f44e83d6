#include "quant/iq1_s.h"

#include <algorithm>
#include <numeric>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/grids.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ1_S& block, int sub) {
  const unsigned high = block.qh[sub];
  const auto scale = static_cast<std::int8_t>(2 * ((high >> 12) & 7u) + 1);
  const int shift = (high & 0x8000u) != 0 ? -1 : 1;
  Codes codes{.code = {}, .scale = {scale, scale}};
  for (int j = 0; j < 4; ++j) {
    const unsigned entry = block.qs[4 * sub + j] | (((high >> (3 * j)) & 7u) << 8);
    signed_elements(kGridIq1S.entry[entry], 0, codes.code + 8 * j);
  }
  for (std::int8_t& code : codes.code) code = static_cast<std::int8_t>(code + shift);
  return codes;
}
float unit_of(const BlockIQ1_S& block) { return f16_to_f32(block.d) / 8.0f; }

namespace {

// The shift follows the sign of a group's sum.
BlockIQ1_S encode_block(const float* x) {
  static const GridSearch search(kGridIq1S);
  float scale[8];
  for (int g = 0; g < 8; ++g) scale[g] = std::fabs(signed_peak({x + 32 * g, 32})) / 9.0f;
  BlockIQ1_S block{};
  block.d = f32_to_f16(*std::max_element(scale, scale + 8) * (8.0f / 15.0f));
  const float unit = unit_of(block);
  for (int g = 0; g < 8; ++g) {
    const float* from = x + 32 * g;
    const int code = odd_scale_code(scale[g], unit, 7);
    const float inverse = reciprocal(unit * static_cast<float>(2 * code + 1));
    const bool down = std::accumulate(from, from + 32, 0.0f) < 0.0f;
    unsigned high = static_cast<unsigned>(code) << 12 | (down ? 0x8000u : 0u);
    for (int j = 0; j < 4; ++j) {
      const unsigned entry = search.nearest(from + 8 * j, inverse);
      block.qs[4 * g + j] = static_cast<std::uint8_t>(entry & 0xffu);
      high |= (entry >> 8) << (3 * j);
    }
    block.qh[g] = static_cast<std::uint16_t>(high);
  }
  return block;
}

}  // namespace

void decode_iq1_s(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockIQ1_S>);
}
void encode_iq1_s(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
