#include "quant/iq2_xxs.h"

#include <algorithm>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/grids.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ2_XXS& block, int sub) {
  const std::uint8_t* from = block.qs[sub];
  const auto word = load_le<std::uint32_t>(from + 4);
  const auto scale = static_cast<std::int8_t>(2 * (word >> 28) + 1);
  Codes codes{.code = {}, .scale = {scale, scale}};
  for (int j = 0; j < 4; ++j) {
    const std::uint8_t signs = even_signs((word >> (7 * j)) & 0x7fu);
    signed_elements(kGridIq2Xxs.entry[from[j]], signs, codes.code + 8 * j);
  }
  return codes;
}
float unit_of(const BlockIQ2_XXS& block) { return f16_to_f32(block.d) / 8.0f; }

namespace {

BlockIQ2_XXS encode_block(const float* x) {
  static const GridSearch search(kGridIq2Xxs);
  float scale[8];
  for (int g = 0; g < 8; ++g) scale[g] = std::fabs(signed_peak({x + 32 * g, 32})) / 43.0f;
  BlockIQ2_XXS block{.d = f32_to_f16(*std::max_element(scale, scale + 8) * (8.0f / 31.0f)),
                     .qs = {}};
  const float unit = unit_of(block);
  for (int g = 0; g < 8; ++g) {
    const int code = odd_scale_code(scale[g], unit, 15);
    const float inverse = reciprocal(unit * static_cast<float>(2 * code + 1));
    std::uint32_t word = static_cast<std::uint32_t>(code) << 28;
    for (int j = 0; j < 4; ++j) {
      const SignedGroup group = split_signs(x + 32 * g + 8 * j, true);
      word |= (group.signs & 0x7fu) << (7 * j);
      block.qs[g][j] = static_cast<std::uint8_t>(search.nearest(group.magnitude, inverse));
    }
    store_le(block.qs[g] + 4, word);
  }
  return block;
}

}  // namespace

void decode_iq2_xxs(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockIQ2_XXS>);
}
void encode_iq2_xxs(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
