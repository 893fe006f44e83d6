// dot_types.h: the interleaved tiles of each type over a vector policy V (x86_dot_vector*.h,
// arm_vector.h). Internal linkage.
//
// A vector holds step after step of V::kTiles tiles side by side. They lie at one distance from
// each other (At::apart, bytes), so that a part is named by its address in the first.
// A type is a struct with Tile, Sub, kSubs, kSums as in x86_avx2_types.h and, over a V,
//   sub(tile, j)           the j-th sub-block of 32 elements
//   codes<V>(at, s)        step s: 4 elements of each row, unsigned
//   scale<V>(at), min<V>(at), sub_scale<V>(at, half)
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {
namespace {

/// What the sum of unsigned codes times a has to lose to be I (docs/arithmetic.md).
enum class Offset {
  kNone,       // the type has a minimum instead
  kMinus8,     // 8 sum a
  kMinus16,    // 16 sum a
  kMinus128,   // 128 sum a: 8-bit codes are made unsigned so
  kMinus32x2,  // 32 sum a, each half of 16 elements for itself; two integer scales
};
constexpr bool has_min(Offset offset) { return offset == Offset::kNone; }
/// What a code loses that becomes signed.
constexpr int taken_off(Offset offset) {
  switch (offset) {
    case Offset::kNone:
      return 0;
    case Offset::kMinus8:
      return 8;
    case Offset::kMinus16:
      return 16;
    case Offset::kMinus32x2:
      return 32;
    case Offset::kMinus128:
      return 128;
  }
  return 0;
}

/// One sub-block of V::kTiles tiles.
template <class Type>
struct At {
  const typename Type::Tile* tile;
  const typename Type::Sub* sub;
  std::ptrdiff_t apart;
};

template <class V>
MINFER_INLINE typename V::Int nibbles(const TileNibbles& from, std::ptrdiff_t apart, int s) {
  const auto word = V::load(from.word[s % 4], apart);
  return V::and_bytes(s < 4 ? word : V::template shift<-4>(word), 0x0f);
}

/// `word` moved so that bits kFrom.. of its bytes come to bits kTo.., others masked away.
template <class V, int kShift>
MINFER_INLINE typename V::Int bits_at(typename V::Int word, int mask) {
  return V::and_bytes(V::template shift<kShift>(word), mask);
}
template <class V>
MINFER_INLINE typename V::Int fifth_bit(typename V::Int word, int s) {
  switch (s) {
    case 0:
      return bits_at<V, 4>(word, 0x10);
    case 1:
      return bits_at<V, 3>(word, 0x10);
    case 2:
      return bits_at<V, 2>(word, 0x10);
    case 3:
      return bits_at<V, 1>(word, 0x10);
    case 4:
      return bits_at<V, 0>(word, 0x10);
    case 5:
      return bits_at<V, -1>(word, 0x10);
    case 6:
      return bits_at<V, -2>(word, 0x10);
    default:
      return bits_at<V, -3>(word, 0x10);
  }
}
template <class V>
MINFER_INLINE typename V::Int five_bits(const TileNibbles& low, const TileFifthBits& high,
                                        std::ptrdiff_t apart, int s) {
  return V::or_bits(nibbles<V>(low, apart, s), fifth_bit<V>(V::load(high.lane, apart), s));
}
template <class V>
MINFER_INLINE typename V::Int six_bits(const TileNibbles& low, const TileTopBits& high,
                                       std::ptrdiff_t apart, int s) {
  const auto word = V::load(high.half[s / 4], apart);
  const auto top = s % 4 == 0   ? bits_at<V, 4>(word, 0x30)
                   : s % 4 == 1 ? bits_at<V, 2>(word, 0x30)
                   : s % 4 == 2 ? bits_at<V, 0>(word, 0x30)
                                : bits_at<V, -2>(word, 0x30);
  return V::or_bits(nibbles<V>(low, apart, s), top);
}

/// Types of one sub-block a block.
template <class TileType>
struct SingleBlock {
  using Tile = TileType;
  using Sub = TileType;
  static constexpr int kSubs = 1;
  MINFER_INLINE static const Sub& sub(const Tile& tile, int) { return tile; }
  template <class V, class A>
  MINFER_INLINE static typename V::Float scale(const A& at) {
    return V::widen_f16(at.sub->d, at.apart);
  }
  template <class V, class A>
  MINFER_INLINE static typename V::Float min(const A& at) {
    return V::widen_f16(at.sub->m, at.apart);
  }
};
template <class Base>
struct FourBits : Base {
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    return nibbles<V>(at.sub->low, at.apart, s);
  }
};
template <class Base>
struct FiveBits : Base {
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    return five_bits<V>(at.sub->low, at.sub->high, at.apart, s);
  }
};
struct Q4_0 : FourBits<SingleBlock<TileQ4_0>> {
  static constexpr Offset kOffset = Offset::kMinus8;
};
struct Q4_1 : FourBits<SingleBlock<TileQ4_1>> {
  static constexpr Offset kOffset = Offset::kNone;
};
struct Q5_0 : FiveBits<SingleBlock<TileQ5_0>> {
  static constexpr Offset kOffset = Offset::kMinus16;
};
struct Q5_1 : FiveBits<SingleBlock<TileQ5_1>> {
  static constexpr Offset kOffset = Offset::kNone;
};
struct Q8_0 : SingleBlock<TileQ8_0> {
  static constexpr Offset kOffset = Offset::kMinus128;
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    return V::add_128(V::load(at.sub->q[s], at.apart));
  }
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
  static constexpr Offset kOffset = Offset::kNone;
  template <class V, class A>
  MINFER_INLINE static typename V::Float scale(const A& at) {
    return V::mul(V::widen_f16(at.tile->d, at.apart), V::widen_u8(at.sub->scale, at.apart));
  }
  template <class V, class A>
  MINFER_INLINE static typename V::Float min(const A& at) {
    return V::neg(
        V::mul(V::widen_f16(at.tile->dmin, at.apart), V::widen_u8(at.sub->min, at.apart)));
  }
};
struct Q4_K : FourBits<MinSuperBlock<TileQ4_K>> {};
struct Q5_K : FiveBits<MinSuperBlock<TileQ5_K>> {};
struct Q6_K : SuperBlock<TileQ6_K> {
  static constexpr Offset kOffset = Offset::kMinus32x2;
  template <class V, class A>
  MINFER_INLINE static typename V::Int codes(const A& at, int s) {
    return six_bits<V>(at.sub->low, at.sub->high, at.apart, s);
  }
  template <class V, class A>
  MINFER_INLINE static typename V::Float scale(const A& at) {
    return V::widen_f16(at.tile->d, at.apart);
  }
  /// The integer scale of elements 16 h .. 16 h + 15.
  template <class V, class A>
  MINFER_INLINE static typename V::Int sub_scale(const A& at, int h) {
    return V::widen_i8(at.sub->scale[h], at.apart);
  }
};

}  // namespace
}  // namespace minfer::cpu
