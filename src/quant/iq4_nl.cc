#include "quant/iq4_nl.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {

Codes codes_of(const BlockIQ4_NL& block, int) {
  Codes codes{.code = {}, .scale = {1, 1}};
  for (int i = 0; i < 16; ++i) {
    codes.code[i] = kLevelsIq4[low_nibble(block.qs[i])];
    codes.code[i + 16] = kLevelsIq4[high_nibble(block.qs[i])];
  }
  return codes;
}
float unit_of(const BlockIQ4_NL& block) { return f16_to_f32(block.d); }

namespace {

BlockIQ4_NL encode_block(const float* x) {
  BlockIQ4_NL block{.d = f32_to_f16(signed_peak({x, 32}) / -127.0f), .qs = {}};
  const float inverse = reciprocal(f16_to_f32(block.d));
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = pack_nibbles(nearest_level(x[i] * inverse, kLevelsIq4),
                               nearest_level(x[i + 16] * inverse, kLevelsIq4));
  }
  return block;
}

}  // namespace

void decode_iq4_nl(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_codes<1, BlockIQ4_NL>);
}
void encode_iq4_nl(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
