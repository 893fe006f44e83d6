#include "quant/q4_0.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ4_0& block, float* x) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>(low_nibble(block.qs[i]) - 8);
    x[i + 16] = d * static_cast<float>(high_nibble(block.qs[i]) - 8);
  }
}

// The peak gets code 0, -8 d, so that the longer negative side of the codes is used.
BlockQ4_0 encode_block(const float* x) {
  const float d = signed_peak({x, 32}) / -8.0f;
  const double inverse = reciprocal(d);
  BlockQ4_0 block{.d = f32_to_f16(d), .qs = {}};
  const auto code = [&](float value) {
    return to_code(static_cast<double>(value) * inverse + 8.5, 0, 15);
  };
  for (int i = 0; i < 16; ++i) block.qs[i] = pack_nibbles(code(x[i]), code(x[i + 16]));
  return block;
}

}  // namespace

void decode_q4_0(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_block);
}
void encode_q4_0(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
