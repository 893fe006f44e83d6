#include "quant/q5_0.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ5_0& block, float* x) {
  const float d = f16_to_f32(block.d);
  const auto high_bits = load_le<std::uint32_t>(block.qh);
  const auto bit4 = [&](int element) { return static_cast<int>((high_bits >> element) & 1u) << 4; };
  for (int i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>((low_nibble(block.qs[i]) | bit4(i)) - 16);
    x[i + 16] = d * static_cast<float>((high_nibble(block.qs[i]) | bit4(i + 16)) - 16);
  }
}

BlockQ5_0 encode_block(const float* x) {
  const float d = signed_peak({x, 32}) / -16.0f;
  const double inverse = reciprocal(d);
  BlockQ5_0 block{.d = f32_to_f16(d), .qh = {}, .qs = {}};
  std::uint32_t high_bits = 0;
  const auto code = [&](int element) {
    const int q = to_code(static_cast<double>(x[element]) * inverse + 16.5, 0, 31);
    high_bits |= static_cast<std::uint32_t>(q >> 4) << element;
    return q & 0x0f;
  };
  for (int i = 0; i < 16; ++i) {
    const int low = code(i);
    block.qs[i] = pack_nibbles(low, code(i + 16));
  }
  store_le(block.qh, high_bits);
  return block;
}

}  // namespace

void decode_q5_0(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_block);
}
void encode_q5_0(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
