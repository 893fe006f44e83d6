#include <arm_neon.h>

#include "cpu/kernels/quantize/quantize.h"

namespace minfer::cpu {
namespace {

/// 16 floats times `inverse`, rounded to nearest even, as bytes in order.
int8x16_t to_bytes(const float32x4_t (&x)[4], float inverse) {
  int16x4_t words[4];
  for (int i = 0; i < 4; ++i) words[i] = vqmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(x[i], inverse)));
  return vcombine_s8(vqmovn_s16(vcombine_s16(words[0], words[1])),
                     vqmovn_s16(vcombine_s16(words[2], words[3])));
}

/// Quantises 16 floats; gives their sum. d, q and two offsets are stored.
int quantize_half(const float* from, int half, Q8ABlock* to) {
  const uint32x4_t magnitude = vdupq_n_u32(0x7fffffffu);
  float32x4_t x[4];
  uint32x4_t largest = vdupq_n_u32(0);
  for (int i = 0; i < 4; ++i) {
    x[i] = vld1q_f32(from + 4 * i);
    largest = vmaxq_u32(largest, vandq_u32(vreinterpretq_u32_f32(x[i]), magnitude));
  }
  const std::uint32_t amax_bits = vmaxvq_u32(largest);
  float amax = 0;
  __builtin_memcpy(&amax, &amax_bits, sizeof amax);
  to->d[half] = amax / 127.0F;
  const bool usable = amax_bits >= kLeastAmaxBits && amax_bits < kInfinityBits;
  const int8x16_t q = usable ? to_bytes(x, 127.0F / amax) : vdupq_n_s8(0);
  vst1q_s8(to->q + kHalfElements * half, q);

  const int16x8_t pairs = vpaddlq_s8(q);  // of neighbours
  const int first = vaddvq_s16(vuzp1q_s16(pairs, vdupq_n_s16(0)));
  const int second = vaddvq_s16(vuzp2q_s16(pairs, vdupq_n_s16(0)));
  to->offset[2 * half] = static_cast<std::int16_t>(-16 * first);
  to->offset[2 * half + 1] = static_cast<std::int16_t>(-16 * second);
  return first + second;
}

void quantize_block(const float* from, Q8ABlock* to) {
  const int first = quantize_half(from, 0, to);
  const int second = quantize_half(from + kHalfElements, 1, to);
  to->s = to->d[0] * static_cast<float>(first) + to->d[1] * static_cast<float>(second);
}

}  // namespace

void quantize_f32_q8a_neon(const float* x, std::int64_t n_blocks, Q8ABlock* to) {
  for (std::int64_t b = 0; b < n_blocks; ++b) quantize_block(x + b * kBlockElements, to + b);
}

}  // namespace minfer::cpu
