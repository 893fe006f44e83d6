#include "quant/mxfp4.h"

#include <bit>

#include "quant/blocks.h"

namespace minfer::quant {

Codes codes_of(const BlockMXFP4& block, int) {
  Codes codes{.code = {}, .scale = {1, 1}};
  for (int i = 0; i < 16; ++i) {
    codes.code[i] = kLevelsMxfp4[low_nibble(block.qs[i])];
    codes.code[i + 16] = kLevelsMxfp4[high_nibble(block.qs[i])];
  }
  return codes;
}
// 2^(e - 128): the two lowest are subnormal.
float unit_of(const BlockMXFP4& block) {
  const std::uint32_t bits =
      block.e < 2 ? 0x00200000u << block.e : static_cast<std::uint32_t>(block.e - 1) << 23;
  return std::bit_cast<float>(bits);
}

namespace {

BlockMXFP4 encode_block(const float* x) {
  const float peak = std::fabs(signed_peak({x, 32}));
  BlockMXFP4 block{};
  if (peak > 0.0f)
    block.e = static_cast<std::uint8_t>(std::clamp(std::ilogb(peak), -125, 127) + 125);
  const float inverse = 1.0f / unit_of(block);
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = pack_nibbles(nearest_level(x[i] * inverse, kLevelsMxfp4),
                               nearest_level(x[i + 16] * inverse, kLevelsMxfp4));
  }
  return block;
}

}  // namespace

void decode_mxfp4(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_codes<1, BlockMXFP4>);
}
void encode_mxfp4(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
