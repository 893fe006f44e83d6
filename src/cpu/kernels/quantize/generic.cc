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

void quantize_block(const float* x, Q8ABlock& to) {
  std::uint32_t amax_bits = 0;
  for (int k = 0; k < kBlockElements; ++k) {
    amax_bits = std::max(amax_bits, std::bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu);
  }
  const float amax = std::bit_cast<float>(amax_bits);
  const bool usable = amax_bits >= kLeastAmaxBits && amax_bits < kInfinityBits;
  const float inverse = usable ? 127.0F / amax : 0.0F;
  int sums[4] = {};
  for (int k = 0; k < kBlockElements; ++k) {
    const int q = usable ? round_half_even(x[k] * inverse) : 0;
    to.q[k] = static_cast<std::int8_t>(q);
    sums[2 * (k / 16) + (k % 4) / 2] += q;
  }
  to.d = amax / 127.0F;
  to.s = to.d * static_cast<float>(sums[0] + sums[1] + sums[2] + sums[3]);
  for (int i = 0; i < 4; ++i) to.offset[i] = static_cast<std::int16_t>(-16 * sums[i]);
}

}  // namespace

void quantize_f32_q8a_scalar(const float* x, std::int64_t n_blocks, Q8ABlock* to) {
  for (std::int64_t b = 0; b < n_blocks; ++b) quantize_block(x + b * kBlockElements, to[b]);
}

}  // namespace minfer::cpu
