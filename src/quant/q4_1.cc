#include "quant/q4_1.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ4_1& block, float* x) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>(low_nibble(block.qs[i])) + m;
    x[i + 16] = d * static_cast<float>(high_nibble(block.qs[i])) + m;
  }
}

BlockQ4_1 encode_block(const float* x) {
  const auto [min, max] = range_of({x, 32});
  const float d = (max - min) / 15.0f;
  const float inverse = reciprocal(d);
  BlockQ4_1 block{.d = f32_to_f16(d), .m = f32_to_f16(min), .qs = {}};
  const auto code = [&, low = min](float value) {
    return to_code((value - low) * inverse + 0.5f, 0, 15);
  };
  for (int i = 0; i < 16; ++i) block.qs[i] = pack_nibbles(code(x[i]), code(x[i + 16]));
  return block;
}

}  // namespace

void decode_q4_1(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_block);
}
void encode_q4_1(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
