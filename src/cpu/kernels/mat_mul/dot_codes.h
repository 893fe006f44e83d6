// dot_codes.h: the interleaved tiles of layout_codes.h over a vector policy V; see
// dot_types.h. Types that are not here have AVX2 kernels at most.
//
// Thread-safety: pure functions.
#pragma once

#include "cpu/kernels/mat_mul/dot_types.h"
#include "cpu/kernels/mat_mul/layout_codes.h"

namespace minfer::cpu {
namespace {

template <class V>
MINFER_INLINE typename V::Int two_bits(const TileTwoBits& from, std::ptrdiff_t apart, int s) {
  const auto word = V::load(from.half[s / 4], apart);
  return s % 4 == 0   ? bits_at<V, 0>(word, 3)
         : s % 4 == 1 ? bits_at<V, -2>(word, 3)
         : s % 4 == 2 ? bits_at<V, -4>(word, 3)
                      : bits_at<V, -6>(word, 3);
}

/// Scales of a whole tile.
template <class TileType>
struct OneScale : SuperBlock<TileType> {
  template <class V, class A>
  MINFER_INLINE static typename V::Float scale(const A& at) {
    return V::widen_f16(at.tile->d, at.apart);
  }
};

/// Codes 0 .. 7 for -4 .. 3, and 28 more, so that the offset is 32.
struct Q3_K : OneScale<TileQ3_K> {
  static constexpr Offset kOffset = Offset::kMinus32x2;
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    const auto fifth = fifth_bit<V>(V::load(at.sub->high.lane, at.apart), s);  // 16 or 0
    const auto high = V::template shift<-2>(fifth);
    return V::add_bytes(V::or_bits(two_bits<V>(at.sub->low, at.apart, s), high), 28);
  }
  template <class V, class A>
  MINFER_INLINE static typename V::Int sub_scale(const A& at, int h) {
    return V::widen_i8(at.sub->scale[h], at.apart);
  }
};

/// Codes 0 .. 2 for -1 .. 1, and 15 more, so that the offset is 16.
struct TQ2_0 : OneScale<TileTQ2_0> {
  static constexpr Offset kOffset = Offset::kMinus16;
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    return V::add_bytes(two_bits<V>(at.sub->low, at.apart, s), 15);
  }
};

/// Levels of 4-bit codes, and 128 more.
template <class Base>
struct LevelsIQ4 : Base {
  static constexpr Offset kOffset = Offset::kMinus128;
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    static constexpr std::int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                1,    13,   25,  38,  53,  69,  89,  113};
    return V::add_128(V::look_up(kLevels, nibbles<V>(at.sub->low, at.apart, s)));
  }
};
struct IQ4_NL : LevelsIQ4<SingleBlock<TileIQ4_NL>> {};
struct IQ4_XS : LevelsIQ4<SuperBlock<TileIQ4_XS>> {
  template <class V, class A>
  MINFER_INLINE static typename V::Float scale(const A& at) {
    return V::mul(V::widen_f16(at.tile->d, at.apart),
                  V::to_floats(V::widen_i8(at.sub->scale, at.apart)));
  }
};

/// Twice the values of 4-bit codes, and 16 more.
struct MXFP4 : SingleBlock<TileMXFP4> {
  static constexpr Offset kOffset = Offset::kMinus16;
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    static constexpr std::int8_t kLevels[16] = {16, 17, 18, 19, 20, 22, 24, 28,
                                                16, 15, 14, 13, 12, 10, 8,  4};
    return V::look_up(kLevels, nibbles<V>(at.sub->low, at.apart, s));
  }
  template <class V, class A>
  MINFER_INLINE static typename V::Float scale(const A& at) {
    return V::half_power(at.sub->e, at.apart);
  }
};

}  // namespace
}  // namespace minfer::cpu
