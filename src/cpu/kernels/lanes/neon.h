// NeonLanes: the 16 floats of ScalarLanes in four 128-bit registers (arm64).
//
// Included only by the files arm_*.cc; internal linkage, as in lanes/avx2.h.
// Thread-safety: values.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

struct NeonLanes {
  float32x4_t v[4];

  /// A tile of attention: rows at most, and values of this type that it may keep in registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTileRegisters = 7;

  static NeonLanes zero() { return set1(0.0F); }
  static NeonLanes set1(float x) {
    const float32x4_t all = vdupq_n_f32(x);
    return {{all, all, all, all}};
  }
  static NeonLanes load(const float* p) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  }
  static NeonLanes load_n(const float* p, int n) {
    float lanes[kLanes] = {};
    for (int i = 0; i < n; ++i) lanes[i] = p[i];
    return load(lanes);
  }
  static NeonLanes load_f16(const std::uint16_t* p) {
    const float16x8_t low = vreinterpretq_f16_u16(vld1q_u16(p));
    const float16x8_t high = vreinterpretq_f16_u16(vld1q_u16(p + 8));
    return {{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low),
             vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high)}};
  }
  static NeonLanes load_bf16(const std::uint16_t* p) {
    const auto widen = [](uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); };
    return {{widen(vld1_u16(p)), widen(vld1_u16(p + 4)), widen(vld1_u16(p + 8)),
             widen(vld1_u16(p + 12))}};
  }
  static NeonLanes broadcast_f16(std::uint16_t h) {
    const float32x4_t all = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h)));
    return {{all, all, all, all}};
  }
  static NeonLanes load_i8(const std::int8_t* p) {
    const int8x16_t q = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(q));
    const int16x8_t high = vmovl_high_s8(q);
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))}};
  }
  void store(float* p) const {
    MINFER_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v[i]);
  }
  void store_f16(std::uint16_t* p) const {
    MINFER_UNROLL
    for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(v[i])));
  }
  void store_n(float* p, int n) const {
    float lanes[kLanes];
    store(lanes);
    for (int i = 0; i < n; ++i) p[i] = lanes[i];
  }

  static NeonLanes add(NeonLanes a, NeonLanes b) {
    return each([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
  }
  static NeonLanes sub(NeonLanes a, NeonLanes b) {
    return each([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
  }
  static NeonLanes mul(NeonLanes a, NeonLanes b) {
    return each([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
  }
  static NeonLanes div(NeonLanes a, NeonLanes b) {
    return each([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
  }
  static NeonLanes fma(NeonLanes a, NeonLanes b, NeonLanes c) {
    return each([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
  }
  // FMAX and FMIN treat NaN and zeros otherwise than docs/arithmetic.md.
  static NeonLanes max(NeonLanes a, NeonLanes b) {
    return each([&](int i) { return larger(a.v[i], b.v[i]); });
  }
  static NeonLanes min(NeonLanes a, NeonLanes b) {
    return each([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); });
  }
  static NeonLanes select_less(NeonLanes a, NeonLanes b, NeonLanes x, NeonLanes y) {
    return each([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), x.v[i], y.v[i]); });
  }
  static NeonLanes neg(NeonLanes a) {
    return each([&](int i) { return vnegq_f32(a.v[i]); });
  }
  static NeonLanes abs(NeonLanes a) {
    return each([&](int i) { return vabsq_f32(a.v[i]); });
  }
  static NeonLanes with_sign(NeonLanes a, NeonLanes s) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000U);
    return each([&](int i) { return vbslq_f32(sign, s.v[i], a.v[i]); });
  }
  static NeonLanes scale_by_power_of_2(NeonLanes a, NeonLanes n) {
    return each([&](int i) {
      const int32x4_t whole = vcvtq_s32_f32(n.v[i]);
      const int32x4_t half = vshrq_n_s32(whole, 1);
      const float32x4_t once = vmulq_f32(a.v[i], power_of_2(half));
      return vmulq_f32(once, power_of_2(vsubq_s32(whole, half)));
    });
  }
  static NeonLanes keep_range(NeonLanes a, int keep_from, int keep_to, NeonLanes other) {
    return each([&](int i) {
      const int32x4_t lane = vaddq_s32(counting(), vdupq_n_s32(4 * i));
      const uint32x4_t kept =
          vandq_u32(vcgeq_s32(lane, vdupq_n_s32(keep_from)), vcltq_s32(lane, vdupq_n_s32(keep_to)));
      return vbslq_f32(kept, a.v[i], other.v[i]);
    });
  }
  static float sum(NeonLanes a) {
    const float32x4_t s4 = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
    const float32x2_t s2 = vadd_f32(vget_low_f32(s4), vget_high_f32(s4));
    return vget_lane_f32(s2, 0) + vget_lane_f32(s2, 1);
  }
  static float largest(NeonLanes a) {
    const float32x4_t m4 = larger(larger(a.v[0], a.v[2]), larger(a.v[1], a.v[3]));
    float lanes[4];
    vst1q_f32(lanes, m4);
    float m = lanes[0];
    for (int i = 1; i < 4; ++i) m = m > lanes[i] ? m : lanes[i];
    return m;
  }
  static void load_pairs(const float* p, NeonLanes& even, NeonLanes& odd) {
    MINFER_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float32x4x2_t pairs = vld2q_f32(p + 8 * i);
      even.v[i] = pairs.val[0];
      odd.v[i] = pairs.val[1];
    }
  }
  static void store_pairs(float* p, NeonLanes even, NeonLanes odd) {
    MINFER_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float32x4x2_t pairs = {{even.v[i], odd.v[i]}};
      vst2q_f32(p + 8 * i, pairs);
    }
  }

 private:
  template <class F>
  MINFER_INLINE static NeonLanes each(F f) {
    return {{f(0), f(1), f(2), f(3)}};
  }
  static float32x4_t larger(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
  }
  static int32x4_t counting() {
    constexpr std::int32_t kCounting[4] = {0, 1, 2, 3};
    return vld1q_s32(kCounting);
  }
  static float32x4_t power_of_2(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
  }
};

}  // namespace
}  // namespace minfer::cpu
