#include <algorithm>
#include <bit>

#include "cpu/kernels/quantize/quantize.h"

namespace minfer::cpu {
namespace {

/// The integer nearest to `x`, halves to even, for |x| <= 2^22: the sum has no bits for a fraction.
int round_half_even(float x) {
  constexpr float kShift = 0x1.8p23F;
  return static_cast<int>((x + kShift) - kShift);
}

/// Quantises `x[0..15]` into `q`; the sums of q over k % 4 in {0, 1} and {2, 3} go to `sums`.
float quantize_half(const float* x, std::int8_t* q, int (&sums)[2]) {
  std::uint32_t amax_bits = 0;
  for (int k = 0; k < kHalfElements; ++k) {
    amax_bits = std::max(amax_bits, std::bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu);
  }
  const float amax = std::bit_cast<float>(amax_bits);
  const bool usable = amax_bits >= kLeastAmaxBits && amax_bits < kInfinityBits;
  const float inverse = usable ? 127.0F / amax : 0.0F;
  for (int k = 0; k < kHalfElements; ++k) {
    const int code = usable ? round_half_even(x[k] * inverse) : 0;
    q[k] = static_cast<std::int8_t>(code);
    sums[(k % 4) / 2] += code;
  }
  return amax / 127.0F;
}

void quantize_block(const float* x, Q8ABlock& to) {
  float parts[2];
  for (int h = 0; h < 2; ++h) {
    int sums[2] = {};
    to.d[h] = quantize_half(x + h * kHalfElements, to.q + h * kHalfElements, sums);
    parts[h] = to.d[h] * static_cast<float>(sums[0] + sums[1]);
    for (int i = 0; i < 2; ++i) to.offset[2 * h + i] = static_cast<std::int16_t>(-16 * sums[i]);
  }
  to.s = parts[0] + parts[1];
}

}  // namespace

void quantize_f32_q8a_scalar(const float* x, std::int64_t n_blocks, Q8ABlock* to) {
  for (std::int64_t b = 0; b < n_blocks; ++b) quantize_block(x + b * kBlockElements, to[b]);
}

}  // namespace minfer::cpu
