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

/// 32 floats times `inverse`, rounded to nearest even, as bytes in order.
__m256i to_bytes(const __m256 (&x)[4], float inverse) {
  const __m256 by = _mm256_set1_ps(inverse);
  __m256i i[4];
  for (int v = 0; v < 4; ++v) i[v] = _mm256_cvtps_epi32(_mm256_mul_ps(x[v], by));
  const __m256i words01 = _mm256_packs_epi32(i[0], i[1]);
  const __m256i words23 = _mm256_packs_epi32(i[2], i[3]);
  // Packing works within 128 bits: groups of 4 come out as 0 2 4 6 | 1 3 5 7.
  const __m256i bytes = _mm256_packs_epi16(words01, words23);
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

void quantize_block(const float* from, Q8ABlock* to) {
  __m256 x[4];
  __m256i amax = _mm256_setzero_si256();
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  for (int v = 0; v < 4; ++v) {
    x[v] = _mm256_loadu_ps(from + 8 * v);
    amax = _mm256_max_epu32(amax, _mm256_and_si256(_mm256_castps_si256(x[v]), magnitude));
  }
  const std::uint32_t amax_bits = largest_lane(amax);
  const float amax_value =
      _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(amax_bits))));
  to->d = amax_value / 127.0F;
  const bool usable = amax_bits >= kLeastAmaxBits && amax_bits < kInfinityBits;
  const __m256i q = usable ? to_bytes(x, 127.0F / amax_value) : _mm256_setzero_si256();
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to->q), q);

  // Pairs of neighbours, then the four of each half: lane 0 of each 128 bits has the sums over
  // k % 4 in {0, 1} and {2, 3}.
  __m256i sums = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
  sums = _mm256_add_epi16(sums, _mm256_shuffle_epi32(sums, _MM_SHUFFLE(1, 0, 3, 2)));
  sums = _mm256_add_epi16(sums, _mm256_shuffle_epi32(sums, _MM_SHUFFLE(2, 3, 0, 1)));
  const __m256i offset = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_slli_epi16(sums, 4));
  const __m128i offsets =
      _mm_unpacklo_epi32(_mm256_castsi256_si128(offset), _mm256_extracti128_si256(offset, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to->offset), offsets);
  const __m256i halves = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
  const int total = _mm_cvtsi128_si32(_mm256_castsi256_si128(halves)) +
                    _mm_cvtsi128_si32(_mm256_extracti128_si256(halves, 1));
  to->s = to->d * static_cast<float>(total);
}

}  // namespace

void quantize_f32_q8a_avx2(const float* x, std::int64_t n_blocks, Q8ABlock* to) {
  for (std::int64_t b = 0; b < n_blocks; ++b) quantize_block(x + b * kBlockElements, to + b);
}

}  // namespace minfer::cpu
