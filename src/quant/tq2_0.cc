#include "quant/tq2_0.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {

Codes codes_of(const BlockTQ2_0& block, int sub) {
  Codes codes{.code = {}, .scale = {1, 1}};
  for (int k = 0; k < 32; ++k) {
    const int q = (block.qs[32 * (sub / 4) + k] >> (2 * (sub % 4))) & 3;
    codes.code[k] = static_cast<std::int8_t>(q - 1);
  }
  return codes;
}
float unit_of(const BlockTQ2_0& block) { return f16_to_f32(block.d); }

namespace {

BlockTQ2_0 encode_block(const float* x) {
  const float d = std::fabs(signed_peak({x, 256}));
  const float inverse = reciprocal(d);
  BlockTQ2_0 block{};
  block.d = f32_to_f16(d);
  for (int i = 0; i < 256; ++i) {
    std::uint8_t& byte = block.qs[32 * (i / 128) + i % 32];
    const int q = nearest_code(x[i] * inverse, -1, 1) + 1;
    byte = static_cast<std::uint8_t>(byte | (q << (2 * (i % 128 / 32))));
  }
  return block;
}

}  // namespace

void decode_tq2_0(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockTQ2_0>);
}
void encode_tq2_0(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
