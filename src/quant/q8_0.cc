#include "quant/q8_0.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ8_0& block, float* x) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(block.qs[i]);
}

BlockQ8_0 encode_block(const float* x) {
  const float d = std::fabs(signed_peak({x, 32})) / 127.0f;
  const float inverse = reciprocal(d);
  BlockQ8_0 block{.d = f32_to_f16(d), .qs = {}};
  for (int i = 0; i < 32; ++i) {
    block.qs[i] = static_cast<std::int8_t>(nearest_code(x[i] * inverse, -127, 127));
  }
  return block;
}

}  // namespace

void decode_q8_0(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_block);
}
void encode_q8_0(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
