// x86_avx2_types.h: the interleaved tiles of each type as AVX2 registers. For the files
// x86_avx2*.cc alone: everything has internal linkage, so that no function compiled for AVX2 can
// be chosen by the linker for the rest of the program.
//
// A type is a struct with
//   Tile, Sub, kSubs      one block of a tile and its sub-blocks of 32 elements
//   kSums                 how the codes are summed (below)
//   sub(tile, j)          the j-th sub-block
//   codes(sub, s)         step s: 4 elements of each of 8 rows, unsigned (signed for kSigned)
//   scale(tile, sub)      d or d' of 8 rows, and min(tile, sub) m or m'
// Thread-safety: pure functions.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {
namespace {

/// How 16-bit sums of the u8 x s8 products of a half of 16 stay exact (docs/arithmetic.md).
enum class Sums {
  kPlain,    // up to 5 bits: 4 pairs of products fit
  kMinus8,   // sum (q - 8) a: the sums start from -8 sum a and may wrap on the way
  kMinus16,  // the same with other offsets
  kMinus32,  // and two integer scales a block
  kSigned,   // 8 bits: signs are moved from one factor to the other, no 16-bit sums
  // Of the types in x86_avx2_codes.h:
  kMinus1,
  kMinus12,
  kMinus4Halves,   // as kMinus32
  kMinus12Halves,  // as kMinus32
  kSignedHalves,   // kSigned with two integer scales
  kTwoScalesMins,  // 2 bits: two integer scales, two integer minimums
};
constexpr bool has_sub_scales(Sums sums) {
  return sums == Sums::kMinus32 || sums == Sums::kMinus4Halves || sums == Sums::kMinus12Halves ||
         sums == Sums::kSignedHalves;
}
constexpr bool has_min(Sums sums) { return sums == Sums::kPlain; }
constexpr int offset_of(Sums sums) {
  switch (sums) {
    case Sums::kMinus1:
      return 1;
    case Sums::kMinus4Halves:
      return 4;
    case Sums::kMinus8:
      return 8;
    case Sums::kMinus12:
    case Sums::kMinus12Halves:
      return 12;
    case Sums::kMinus16:
      return 16;
    case Sums::kMinus32:
      return 32;
    default:
      return 0;
  }
}

MINFER_INLINE __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
MINFER_INLINE __m256 widen_f16(const std::uint16_t (&from)[kTileLanes]) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
MINFER_INLINE __m256 widen_u8(const std::uint8_t (&from)[kTileLanes]) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

/// Byte `place` of each lane as a 16-bit number, twice.
MINFER_INLINE __m256i pair_of(__m256i lanes, int place) {
  const __m128i lane = _mm_setr_epi32(0, 0x00040004, 0x00080008, 0x000c000c);
  const int pair = static_cast<int>(0x80008000u) | place | (place << 16);
  return _mm256_shuffle_epi8(
      lanes, _mm256_add_epi32(_mm256_broadcastsi128_si256(lane), _mm256_set1_epi32(pair)));
}

MINFER_INLINE __m256i nibbles(const TileNibbles& from, int s) {
  const __m256i word = load(from.word[s % 4]);
  return _mm256_and_si256(s < 4 ? word : _mm256_srli_epi16(word, 4), _mm256_set1_epi8(0x0f));
}
/// `word` moved left by `count` bits (right if negative): bits cross bytes, masks remove them.
MINFER_INLINE __m256i shift(__m256i word, int count) {
  return count >= 0 ? _mm256_slli_epi16(word, count) : _mm256_srli_epi16(word, -count);
}
MINFER_INLINE __m256i five_bits(const TileNibbles& low, const TileFifthBits& high, int s) {
  const __m256i bit = _mm256_and_si256(shift(load(high.lane), 4 - s), _mm256_set1_epi8(0x10));
  return _mm256_or_si256(nibbles(low, s), bit);
}
MINFER_INLINE __m256i six_bits(const TileNibbles& low, const TileTopBits& high, int s) {
  const __m256i word = load(high.half[s / 4]);
  const __m256i bits = _mm256_and_si256(shift(word, 4 - 2 * (s % 4)), _mm256_set1_epi8(0x30));
  return _mm256_or_si256(nibbles(low, s), bits);
}

/// Types of one sub-block a block.
template <class TileType>
struct SingleBlock {
  using Tile = TileType;
  using Sub = TileType;
  static constexpr int kSubs = 1;
  MINFER_INLINE static const Sub& sub(const Tile& tile, int) { return tile; }
  MINFER_INLINE static __m256 scale(const Tile&, const Sub& sub) { return widen_f16(sub.d); }
  MINFER_INLINE static __m256 min(const Tile&, const Sub& sub) { return widen_f16(sub.m); }
};
struct Q4_0 : SingleBlock<TileQ4_0> {
  static constexpr Sums kSums = Sums::kMinus8;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return nibbles(sub.low, s); }
};
struct Q4_1 : SingleBlock<TileQ4_1> {
  static constexpr Sums kSums = Sums::kPlain;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return nibbles(sub.low, s); }
};
struct Q5_0 : SingleBlock<TileQ5_0> {
  static constexpr Sums kSums = Sums::kMinus16;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    return five_bits(sub.low, sub.high, s);
  }
};
struct Q5_1 : SingleBlock<TileQ5_1> {
  static constexpr Sums kSums = Sums::kPlain;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    return five_bits(sub.low, sub.high, s);
  }
};
struct Q8_0 : SingleBlock<TileQ8_0> {
  static constexpr Sums kSums = Sums::kSigned;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return load(sub.q[s]); }
};

/// Types of 8 sub-blocks.
template <class TileType>
struct SuperBlock {
  using Tile = TileType;
  using Sub = typename TileType::Sub;
  static constexpr int kSubs = 8;
  MINFER_INLINE static const Sub& sub(const Tile& tile, int j) { return tile.sub[j]; }
};
template <class TileType>
struct MinSuperBlock : SuperBlock<TileType> {
  using Tile = TileType;
  using Sub = typename TileType::Sub;
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub& sub) {
    return _mm256_mul_ps(widen_f16(tile.d), widen_u8(sub.scale));
  }
  MINFER_INLINE static __m256 min(const Tile& tile, const Sub& sub) {
    const __m256 product = _mm256_mul_ps(widen_f16(tile.dmin), widen_u8(sub.min));
    return _mm256_xor_ps(product, _mm256_set1_ps(-0.0F));
  }
};
struct Q4_K : MinSuperBlock<TileQ4_K> {
  static constexpr Sums kSums = Sums::kPlain;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return nibbles(sub.low, s); }
};
struct Q5_K : MinSuperBlock<TileQ5_K> {
  static constexpr Sums kSums = Sums::kPlain;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    return five_bits(sub.low, sub.high, s);
  }
};
struct Q6_K : SuperBlock<TileQ6_K> {
  static constexpr Sums kSums = Sums::kMinus32;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    return six_bits(sub.low, sub.high, s);
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub&) { return widen_f16(tile.d); }
  /// The integer scale of elements 16 h .. 16 h + 15, twice in every lane.
  MINFER_INLINE static __m256i sub_scale(const Sub& sub, int h) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(sub.scale[h]));
    const __m256i wide = _mm256_cvtepi8_epi32(bytes);
    return _mm256_or_si256(_mm256_slli_epi32(wide, 16),
                           _mm256_and_si256(wide, _mm256_set1_epi32(0xffff)));
  }
};

}  // namespace
}  // namespace minfer::cpu
