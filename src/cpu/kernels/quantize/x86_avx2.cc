#include <immintrin.h>

#include "cpu/kernels/quantize/quantize.h"

namespace minfer::cpu {
namespace {

std::uint32_t largest_lane(__m256i v) {
  __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(1, 0, 3, 2)));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(2, 3, 0, 1)));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
}

/// 16 floats times `inverse`, rounded to nearest even, as 16-bit numbers in order.
__m256i to_words(const __m256 (&x)[2], float inverse) {
  const __m256 by = _mm256_set1_ps(inverse);
  const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(x[0], by)),
                                           _mm256_cvtps_epi32(_mm256_mul_ps(x[1], by)));
  // Packing works within 128 bits.
  return _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0));
}

/// Quantises 16 floats; gives their sum. d, q and two offsets are stored.
int quantize_half(const float* from, int half, Q8ABlock* to) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  const __m256 x[2] = {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  const std::uint32_t amax_bits =
      largest_lane(_mm256_max_epu32(_mm256_and_si256(_mm256_castps_si256(x[0]), magnitude),
                                    _mm256_and_si256(_mm256_castps_si256(x[1]), magnitude)));
  const float amax =
      _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(amax_bits))));
  to->d[half] = amax / 127.0F;
  const bool usable = amax_bits >= kLeastAmaxBits && amax_bits < kInfinityBits;
  const __m256i words = usable ? to_words(x, 127.0F / amax) : _mm256_setzero_si256();
  const __m128i q =
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to->q + kHalfElements * half), q);

  // Pairs of neighbours, then the four of each: word 0 and 1 have the sums over k % 4 in {0, 1} and
  // {2, 3}.
  __m128i sums = _mm_maddubs_epi16(_mm_set1_epi8(1), q);
  sums = _mm_add_epi16(sums, _mm_shuffle_epi32(sums, _MM_SHUFFLE(1, 0, 3, 2)));
  sums = _mm_add_epi16(sums, _mm_shuffle_epi32(sums, _MM_SHUFFLE(2, 3, 0, 1)));
  const __m128i offsets = _mm_sub_epi16(_mm_setzero_si128(), _mm_slli_epi16(sums, 4));
  const int both = _mm_cvtsi128_si32(offsets);
  __builtin_memcpy(to->offset + 2 * half, &both, sizeof both);
  return _mm_cvtsi128_si32(_mm_madd_epi16(sums, _mm_set1_epi16(1)));
}

void quantize_block(const float* from, Q8ABlock* to) {
  const int first = quantize_half(from, 0, to);
  const int second = quantize_half(from + kHalfElements, 1, to);
  to->s = to->d[0] * static_cast<float>(first) + to->d[1] * static_cast<float>(second);
}

}  // namespace

void quantize_f32_q8a_avx2(const float* x, std::int64_t n_blocks, Q8ABlock* to) {
  for (std::int64_t b = 0; b < n_blocks; ++b) quantize_block(x + b * kBlockElements, to + b);
}

}  // namespace minfer::cpu
