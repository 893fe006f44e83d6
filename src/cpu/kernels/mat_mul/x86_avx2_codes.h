// x86_avx2_codes.h: the interleaved tiles of layout_codes.h as AVX2 registers; see
// x86_avx2_types.h.
//
// Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/mat_mul/layout_codes.h"
#include "cpu/kernels/mat_mul/x86_avx2_types.h"
#include "quant/grid_tables.h"

namespace minfer::cpu {
namespace {

MINFER_INLINE __m256i widen_bytes(const std::uint8_t (&from)[kTileLanes]) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
MINFER_INLINE __m256i widen_bytes(const std::int8_t (&from)[kTileLanes]) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
/// A 16-bit number in each lane, twice.
MINFER_INLINE __m256i twice(__m256i lanes) {
  return _mm256_or_si256(_mm256_slli_epi32(lanes, 16),
                         _mm256_and_si256(lanes, _mm256_set1_epi32(0xffff)));
}
/// 16 bytes for a look-up by 4-bit codes.
MINFER_INLINE __m256i table_of(__m128i levels) { return _mm256_broadcastsi128_si256(levels); }

MINFER_INLINE __m256i two_bits(const TileTwoBits& from, int s) {
  const __m256i word = load(from.half[s / 4]);
  return _mm256_and_si256(_mm256_srli_epi16(word, 2 * (s % 4)), _mm256_set1_epi8(3));
}

struct Q2_K : SuperBlock<TileQ2_K> {
  static constexpr Sums kSums = Sums::kTwoScalesMins;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return two_bits(sub.low, s); }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub&) { return widen_f16(tile.d); }
  MINFER_INLINE static __m256 min_unit(const Tile& tile) { return widen_f16(tile.dmin); }
  /// In each lane, a byte each: the scales of elements 0-15 and 16-31, their minimums.
  MINFER_INLINE static __m256i scales_mins(const Sub& sub) {
    const __m256i bytes =
        _mm256_or_si256(widen_bytes(sub.scale[0]), _mm256_slli_epi32(widen_bytes(sub.scale[1]), 8));
    const __m256i low = _mm256_set1_epi32(0x0f0f);
    return _mm256_or_si256(
        _mm256_and_si256(bytes, low),
        _mm256_slli_epi32(_mm256_and_si256(_mm256_srli_epi32(bytes, 4), low), 16));
  }
  MINFER_INLINE static __m256i sub_scale(const Sub& sub, int h) {
    return pair_of(scales_mins(sub), h);
  }
  MINFER_INLINE static __m256i sub_min(const Sub& sub, int h) {
    return pair_of(scales_mins(sub), h + 2);
  }
};

struct Q3_K : SuperBlock<TileQ3_K> {
  static constexpr Sums kSums = Sums::kMinus4Halves;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i bit = shift(load(sub.high.lane), 2 - s);
    return _mm256_or_si256(two_bits(sub.low, s), _mm256_and_si256(bit, _mm256_set1_epi8(4)));
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub&) { return widen_f16(tile.d); }
  MINFER_INLINE static __m256i sub_scale(const Sub& sub, int h) {
    return twice(widen_bytes(sub.scale[h]));
  }
};

struct TQ2_0 : SuperBlock<TileTQ2_0> {
  static constexpr Sums kSums = Sums::kMinus1;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return two_bits(sub.low, s); }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub&) { return widen_f16(tile.d); }
};

MINFER_INLINE __m256i levels_iq4(const TileNibbles& from, int s) {
  const __m128i levels =
      _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
  return _mm256_shuffle_epi8(table_of(levels), nibbles(from, s));
}
struct IQ4_NL : SingleBlock<TileIQ4_NL> {
  static constexpr Sums kSums = Sums::kSigned;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return levels_iq4(sub.low, s); }
};
struct IQ4_XS : SuperBlock<TileIQ4_XS> {
  static constexpr Sums kSums = Sums::kSigned;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) { return levels_iq4(sub.low, s); }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub& sub) {
    return _mm256_mul_ps(widen_f16(tile.d), _mm256_cvtepi32_ps(widen_bytes(sub.scale)));
  }
};

struct MXFP4 : SingleBlock<TileMXFP4> {
  static constexpr Sums kSums = Sums::kMinus12;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m128i levels = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
    return _mm256_shuffle_epi8(table_of(levels), nibbles(sub.low, s));
  }
  /// 2^(e - 128): the two lowest are subnormal.
  MINFER_INLINE static __m256 scale(const Tile&, const Sub& sub) {
    const __m256i e = widen_bytes(sub.e);
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
    const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(tiny, normal, _mm256_cmpgt_epi32(e, one)));
  }
};

/// d times a constant times 2 * code + 1.
MINFER_INLINE __m256 odd_scale(const std::uint16_t (&d)[kTileLanes], float by, __m256i code) {
  const __m256 odd =
      _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_add_epi32(code, code), _mm256_set1_epi32(1)));
  return _mm256_mul_ps(_mm256_mul_ps(widen_f16(d), _mm256_set1_ps(by)), odd);
}
MINFER_INLINE __m256i odd_pair(__m256i code) {
  return twice(_mm256_add_epi32(_mm256_add_epi32(code, code), _mm256_set1_epi32(1)));
}
/// `bits` of each lane from bit `from` on.
MINFER_INLINE __m256i bits_of(__m256i lanes, int from, int mask) {
  return _mm256_and_si256(_mm256_srli_epi32(lanes, from), _mm256_set1_epi32(mask));
}
/// Bit 8 and up of an entry's number, from bits `from`.. of `high`.
MINFER_INLINE __m256i entry_number(const std::uint8_t (&low)[kTileLanes], __m256i high, int from,
                                   int mask) {
  return _mm256_or_si256(widen_bytes(low), _mm256_slli_epi32(bits_of(high, from, mask), 8));
}

/// 4 elements of 8 rows: an entry, or half `half` of it.
template <std::size_t kEntries>
MINFER_INLINE __m256i look_up(const quant::Grid<std::uint32_t, kEntries>& grid, __m256i numbers) {
  return _mm256_i32gather_epi32(reinterpret_cast<const int*>(grid.entry), numbers, 4);
}
template <std::size_t kEntries>
MINFER_INLINE __m256i look_up(const quant::Grid<std::uint64_t, kEntries>& grid, __m256i numbers,
                              int half) {
  return _mm256_i32gather_epi32(reinterpret_cast<const int*>(grid.entry) + half, numbers, 8);
}

/// The signs with those that TileSigns leaves out of an even number.
MINFER_INLINE __m256i even_signs(const TileSigns& from) {
  const __m256i kept = _mm256_and_si256(load(from.lane), _mm256_set1_epi32(0x55ffffff));
  // Byte 0: bit s is odd if an odd number of elements of step s is negative.
  __m256i odd = _mm256_xor_si256(kept, _mm256_srli_epi32(kept, 16));
  odd = _mm256_xor_si256(odd, _mm256_srli_epi32(odd, 8));
  odd = _mm256_xor_si256(odd, _mm256_srli_epi32(odd, 1));
  const __m256i eighths = _mm256_and_si256(odd, _mm256_set1_epi32(0x55));
  return _mm256_or_si256(kept, _mm256_slli_epi32(eighths, 25));
}
MINFER_INLINE __m256i spare_bits(const TileSigns& from) {
  __m256i bits = bits_of(load(from.lane), 25, 0x55);
  bits =
      _mm256_and_si256(_mm256_or_si256(bits, _mm256_srli_epi32(bits, 1)), _mm256_set1_epi32(0x33));
  return _mm256_and_si256(_mm256_or_si256(bits, _mm256_srli_epi32(bits, 2)),
                          _mm256_set1_epi32(0x0f));
}
MINFER_INLINE __m256i with_signs(__m256i magnitudes, __m256i signs, int s) {
  const __m256i bit = _mm256_set1_epi8(static_cast<char>(1u << s));
  const __m256i negative = _mm256_cmpeq_epi8(_mm256_and_si256(signs, bit), bit);
  return _mm256_sub_epi8(_mm256_xor_si256(magnitudes, negative), negative);
}

struct IQ3_S : SuperBlock<TileIQ3_S> {
  static constexpr Sums kSums = Sums::kMinus16;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i numbers = entry_number(sub.entry[s], widen_bytes(sub.high), s, 1);
    const __m256i values = with_signs(look_up(quant::kGridIq3S, numbers), load(sub.signs.lane), s);
    return _mm256_add_epi8(values, _mm256_set1_epi8(16));
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub& sub) {
    return odd_scale(tile.d, 1.0F, widen_bytes(sub.scale));
  }
};
struct IQ3_XXS : SuperBlock<TileIQ3_XXS> {
  static constexpr Sums kSums = Sums::kSigned;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i values = look_up(quant::kGridIq3Xxs, widen_bytes(sub.entry[s]));
    return with_signs(values, even_signs(sub.signs), s);
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub& sub) {
    return odd_scale(tile.d, 0.25F, spare_bits(sub.signs));
  }
};

struct IQ2_XXS : SuperBlock<TileIQ2_XXS> {
  static constexpr Sums kSums = Sums::kSigned;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i values = look_up(quant::kGridIq2Xxs, widen_bytes(sub.entry[s / 2]), s % 2);
    return with_signs(values, even_signs(sub.signs), s);
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub& sub) {
    return odd_scale(tile.d, 0.125F, spare_bits(sub.signs));
  }
};

/// Two 4-bit scales a sub-block.
template <class TileType>
struct TwoNibbleScales : SuperBlock<TileType> {
  using Sub = typename TileType::Sub;
  static constexpr Sums kSums = Sums::kSignedHalves;
  MINFER_INLINE static __m256 scale(const TileType& tile, const Sub&) {
    return _mm256_mul_ps(widen_f16(tile.d), _mm256_set1_ps(0.125F));
  }
  MINFER_INLINE static __m256i sub_scale(const Sub& sub, int h) {
    return odd_pair(bits_of(widen_bytes(sub.scales), 4 * h, 15));
  }
};
struct IQ2_XS : TwoNibbleScales<TileIQ2_XS> {
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i numbers = entry_number(sub.entry[s / 2], spare_bits(sub.signs), s / 2, 1);
    return with_signs(look_up(quant::kGridIq2Xs, numbers, s % 2), even_signs(sub.signs), s);
  }
};
struct IQ2_S : TwoNibbleScales<TileIQ2_S> {
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i numbers = entry_number(sub.entry[s / 2], widen_bytes(sub.high), s / 2 * 2, 3);
    return with_signs(look_up(quant::kGridIq2S, numbers, s % 2), load(sub.signs.lane), s);
  }
};

MINFER_INLINE __m256i widen_words(const std::uint16_t (&from)[kTileLanes]) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
/// Elements -8, 0, 8 and a shift, 1 or where `down` is set -1, as codes with an offset of 12.
MINFER_INLINE __m256i shifted(__m256i elements, __m256i down) {
  const __m256i offset = _mm256_add_epi8(_mm256_set1_epi8(13), _mm256_add_epi8(down, down));
  return _mm256_add_epi8(elements, offset);
}
struct IQ1_S : SuperBlock<TileIQ1_S> {
  static constexpr Sums kSums = Sums::kMinus12;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const __m256i high = widen_words(sub.high);
    const __m256i numbers = entry_number(sub.entry[s / 2], high, 3 * (s / 2), 7);
    const __m256i down = _mm256_srai_epi32(_mm256_slli_epi32(high, 16), 31);
    return shifted(look_up(quant::kGridIq1S, numbers, s % 2), down);
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub& sub) {
    return odd_scale(tile.d, 0.125F, bits_of(widen_words(sub.high), 12, 7));
  }
};
struct IQ1_M : SuperBlock<TileIQ1_M> {
  static constexpr Sums kSums = Sums::kMinus12Halves;
  MINFER_INLINE static __m256i codes(const Sub& sub, int s) {
    const int place = 4 * (s / 2);
    const __m256i high = widen_words(sub.high);
    const __m256i numbers = entry_number(sub.entry[s / 2], high, place, 7);
    const __m256i down = _mm256_srai_epi32(_mm256_slli_epi32(high, 28 - place), 31);
    return shifted(look_up(quant::kGridIq1S, numbers, s % 2), down);
  }
  MINFER_INLINE static __m256 scale(const Tile& tile, const Sub&) {
    return _mm256_mul_ps(widen_f16(tile.d), _mm256_set1_ps(0.125F));
  }
  MINFER_INLINE static __m256i sub_scale(const Sub& sub, int h) {
    return odd_pair(bits_of(widen_bytes(sub.scales), 3 * h, 7));
  }
};

}  // namespace
}  // namespace minfer::cpu
