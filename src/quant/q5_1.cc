#include "quant/q5_1.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ5_1& block, float* x) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  const auto high_bits = load_le<std::uint32_t>(block.qh);
  const auto bit4 = [&](int element) { return static_cast<int>((high_bits >> element) & 1u) << 4; };
  for (int i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>(low_nibble(block.qs[i]) | bit4(i)) + m;
    x[i + 16] = d * static_cast<float>(high_nibble(block.qs[i]) | bit4(i + 16)) + m;
  }
}

BlockQ5_1 encode_block(const float* x) {
  const Range range = range_of({x, 32});
  const float d = (range.max - range.min) / 31.0f;
  const float inverse = reciprocal(d);
  BlockQ5_1 block{.d = f32_to_f16(d), .m = f32_to_f16(range.min), .qh = {}, .qs = {}};
  std::uint32_t high_bits = 0;
  const auto code = [&](int element) {
    const int q = to_code((x[element] - range.min) * inverse + 0.5f, 0, 31);
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

void decode_q5_1(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<32>(src, dst, n, decode_block);
}
void encode_q5_1(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<32>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
