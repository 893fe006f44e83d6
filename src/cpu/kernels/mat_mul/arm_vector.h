// arm_vector.h: the vector policy of NEON for dot_product.h, one tile two 128-bit registers. A file
// of an instruction set adds its dot(). For the files arm_*.cc alone; internal linkage.
//
// Thread-safety: values.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/layout.h"

namespace minfer::cpu {
namespace {

struct ArmVector {
  struct Int {
    int32x4_t lo, hi;
  };
  struct Float {
    float32x4_t lo, hi;
  };
  static constexpr int kTiles = 1;
  static constexpr bool kSignedCodes = true;
  static constexpr bool kRowPairs = false;
  static constexpr int kPanelVectors = 2;
  /// Rows of x that meet a panel of 1 or 2 vectors: sums and accumulators fill 32 registers.
  static constexpr int rows_at_once(int vectors) { return vectors == 2 ? 3 : 6; }
  /// Rows of x that meet tiles unpacked in registers; from kLeastPanelRows on panels are used.
  static constexpr int kMostFusedRows = 6;
  static constexpr int kLeastPanelRows = 17;

  MINFER_INLINE static Int load(const void* from, std::ptrdiff_t) {
    const auto* bytes = static_cast<const std::uint8_t*>(from);
    return from_u8(vld1q_u8(bytes), vld1q_u8(bytes + 16));
  }
  MINFER_INLINE static Float widen_f16(const std::uint16_t (&from)[kTileLanes], std::ptrdiff_t) {
    return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))),
            vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + 4)))};
  }
  MINFER_INLINE static Float widen_u8(const std::uint8_t (&from)[kTileLanes],
                                      std::ptrdiff_t apart) {
    return to_floats(widen_bytes(from, apart));
  }
  MINFER_INLINE static Int widen_i8(const std::int8_t (&from)[kTileLanes], std::ptrdiff_t) {
    const int16x8_t wide = vmovl_s8(vld1_s8(from));
    return {vmovl_s16(vget_low_s16(wide)), vmovl_high_s16(wide)};
  }
  MINFER_INLINE static Int widen_bytes(const std::uint8_t (&from)[kTileLanes], std::ptrdiff_t) {
    const uint16x8_t wide = vmovl_u8(vld1_u8(from));
    return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide))),
            vreinterpretq_s32_u32(vmovl_high_u16(wide))};
  }
  /// 2^(e - 128): the two lowest are subnormal.
  MINFER_INLINE static Float half_power(const std::uint8_t (&from)[kTileLanes],
                                        std::ptrdiff_t apart) {
    const Int e = widen_bytes(from, apart);
    return {half_power(e.lo), half_power(e.hi)};
  }
  /// The byte of `table` that each byte's low four bits name (bits 4-7 must be 0).
  MINFER_INLINE static Int look_up(const std::int8_t (&table)[16], Int places) {
    const uint8x16_t bytes = vreinterpretq_u8_s8(vld1q_s8(table));
    return from_u8(vqtbl1q_u8(bytes, u8(places.lo)), vqtbl1q_u8(bytes, u8(places.hi)));
  }
  MINFER_INLINE static Int add_bytes(Int a, int b) {
    const uint8x16_t by = vdupq_n_u8(static_cast<std::uint8_t>(b));
    return from_u8(vaddq_u8(u8(a.lo), by), vaddq_u8(u8(a.hi), by));
  }

  MINFER_INLINE static Int zero() { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  MINFER_INLINE static Float zero_floats() { return {vdupq_n_f32(0.0F), vdupq_n_f32(0.0F)}; }
  MINFER_INLINE static Int and_bytes(Int a, int mask) {
    const uint8x16_t m = vdupq_n_u8(static_cast<std::uint8_t>(mask));
    return from_u8(vandq_u8(u8(a.lo), m), vandq_u8(u8(a.hi), m));
  }
  MINFER_INLINE static Int or_bits(Int a, Int b) {
    return {vorrq_s32(a.lo, b.lo), vorrq_s32(a.hi, b.hi)};
  }
  MINFER_INLINE static Int add_128(Int a) { return add_bytes(a, 128); }
  /// Left by kCount bits, right if negative; bits cross bytes.
  template <int kCount>
  MINFER_INLINE static Int shift(Int a) {
    if constexpr (kCount >= 0) {
      return {vreinterpretq_s32_u16(vshlq_n_u16(vreinterpretq_u16_s32(a.lo), kCount)),
              vreinterpretq_s32_u16(vshlq_n_u16(vreinterpretq_u16_s32(a.hi), kCount))};
    } else {
      return {vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(a.lo), -kCount)),
              vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(a.hi), -kCount))};
    }
  }
  MINFER_INLINE static Int add(Int a, Int b) {
    return {vaddq_s32(a.lo, b.lo), vaddq_s32(a.hi, b.hi)};
  }
  MINFER_INLINE static Int mul_lanes(Int a, Int b) {
    return {vmulq_s32(a.lo, b.lo), vmulq_s32(a.hi, b.hi)};
  }
  MINFER_INLINE static Int broadcast4(const void* from) {
    int word = 0;
    __builtin_memcpy(&word, from, 4);
    return {vdupq_n_s32(word), vdupq_n_s32(word)};
  }

  MINFER_INLINE static Float to_floats(Int a) { return {vcvtq_f32_s32(a.lo), vcvtq_f32_s32(a.hi)}; }
  MINFER_INLINE static Float broadcast(const float* x) {
    return {vdupq_n_f32(*x), vdupq_n_f32(*x)};
  }
  MINFER_INLINE static Float neg(Float a) { return {vnegq_f32(a.lo), vnegq_f32(a.hi)}; }
  MINFER_INLINE static Float mul(Float a, Float b) {
    return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)};
  }
  MINFER_INLINE static Float fma(Float a, Float b, Float c) {
    return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
  }

  /// The first n_lanes floats: a tile may reach past the last row.
  MINFER_INLINE static void store(float* to, Float value, std::int64_t n_lanes) {
    float lanes[kTileLanes];
    float* whole = n_lanes >= kTileLanes ? to : lanes;
    vst1q_f32(whole, value.lo);
    vst1q_f32(whole + 4, value.hi);
    if (n_lanes >= kTileLanes) return;
    for (std::int64_t i = 0; i < n_lanes; ++i) to[i] = lanes[i];
  }
  MINFER_INLINE static Float load_floats(const float* from, std::int64_t n_lanes) {
    float lanes[kTileLanes] = {};
    if (n_lanes < kTileLanes) {
      for (std::int64_t i = 0; i < n_lanes; ++i) lanes[i] = from[i];
      from = lanes;
    }
    return {vld1q_f32(from), vld1q_f32(from + 4)};
  }

 protected:
  MINFER_INLINE static uint8x16_t u8(int32x4_t a) { return vreinterpretq_u8_s32(a); }
  MINFER_INLINE static int8x16_t s8(int32x4_t a) { return vreinterpretq_s8_s32(a); }
  MINFER_INLINE static Int from_u8(uint8x16_t lo, uint8x16_t hi) {
    return {vreinterpretq_s32_u8(lo), vreinterpretq_s32_u8(hi)};
  }
  MINFER_INLINE static float32x4_t half_power(int32x4_t e) {
    const int32x4_t one = vdupq_n_s32(1);
    const int32x4_t normal = vshlq_n_s32(vsubq_s32(e, one), 23);
    // Only for e of 0 and 1: larger shifts give lanes that are not taken.
    const int32x4_t tiny = vshlq_s32(vdupq_n_s32(0x00200000), vminq_s32(e, one));
    return vreinterpretq_f32_s32(vbslq_s32(vcgtq_s32(e, one), normal, tiny));
  }
};

}  // namespace
}  // namespace minfer::cpu
