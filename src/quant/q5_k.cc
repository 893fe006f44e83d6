#include "quant/q5_k.h"

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/k_scales.h"

namespace minfer::quant {
namespace {

void decode_block(const BlockQ5_K& block, float* x) {
  const KScales scales = unpack_k_scales(block.scales);
  for (int g = 0; g < 8; ++g) {
    const float scale = f16_to_f32(block.d) * static_cast<float>(scales.scale[g]);
    const float min = f16_to_f32(block.dmin) * static_cast<float>(scales.min[g]);
    for (int j = 0; j < 32; ++j) {
      const std::uint8_t byte = block.qs[32 * (g / 2) + j];
      const int low = g % 2 == 0 ? low_nibble(byte) : high_nibble(byte);
      const int q = low | (((block.qh[j] >> g) & 1) << 4);
      x[32 * g + j] = scale * static_cast<float>(q) - min;
    }
  }
}

BlockQ5_K encode_block(const float* x) {
  const KFit fit = fit_k_block(x, 31);
  BlockQ5_K block{.d = fit.d, .dmin = fit.dmin, .scales = {}, .qh = {}, .qs = {}};
  pack_k_scales(fit.scales, block.scales);
  for (int i = 0; i < 128; ++i) {
    const int element = 64 * (i / 32) + i % 32;
    block.qs[i] = pack_nibbles(fit.code[element] & 0x0f, fit.code[element + 32] & 0x0f);
  }
  for (int i = 0; i < 256; ++i) {
    const int bit = (fit.code[i] >> 4) << (i / 32);
    block.qh[i % 32] = static_cast<std::uint8_t>(block.qh[i % 32] | bit);
  }
  return block;
}

}  // namespace

void decode_q5_k(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_block);
}
void encode_q5_k(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant
