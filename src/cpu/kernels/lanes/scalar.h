// ScalarLanes: 16 floats in plain C++, the reference for every instruction set's lanes.
//
// Kernels are templates over such a type, so that one text fixes the order of operations. A lanes
// type offers exactly the operations below with exactly these results, NaN payloads aside.
// Thread-safety: values.
#pragma once

#include <bit>
#include <cstdint>

#include "base/half.h"
#include "base/soft_fma.h"
#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

struct ScalarLanes {
  float v[kLanes];

  /// A tile of attention: rows at most, and values of this type that it may keep in registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTileRegisters = 7;

  template <class F>
  static ScalarLanes make(F f) {
    ScalarLanes r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = f(i);
    return r;
  }

  static ScalarLanes zero() { return set1(0.0F); }
  static ScalarLanes set1(float x) {
    return make([x](int) { return x; });
  }
  static ScalarLanes load(const float* p) {
    return make([p](int i) { return p[i]; });
  }
  /// The first n lanes from memory, +0 in the others; 0 < n < 16.
  static ScalarLanes load_n(const float* p, int n) {
    return make([p, n](int i) { return i < n ? p[i] : 0.0F; });
  }
  static ScalarLanes load_f16(const std::uint16_t* p) {
    return make([p](int i) { return f16_to_f32(p[i]); });
  }
  static ScalarLanes load_bf16(const std::uint16_t* p) {
    return make([p](int i) { return bf16_to_f32(p[i]); });
  }
  static ScalarLanes broadcast_f16(std::uint16_t h) { return set1(f16_to_f32(h)); }
  static ScalarLanes load_i8(const std::int8_t* p) {
    return make([p](int i) { return static_cast<float>(p[i]); });
  }
  void store(float* p) const {
    for (int i = 0; i < kLanes; ++i) p[i] = v[i];
  }
  /// Rounds to the nearest f16, ties to even.
  void store_f16(std::uint16_t* p) const {
    for (int i = 0; i < kLanes; ++i) p[i] = f32_to_f16(v[i]);
  }
  void store_n(float* p, int n) const {
    for (int i = 0; i < n; ++i) p[i] = v[i];
  }

  static ScalarLanes add(const ScalarLanes& a, const ScalarLanes& b) {
    return make([&](int i) { return a.v[i] + b.v[i]; });
  }
  static ScalarLanes sub(const ScalarLanes& a, const ScalarLanes& b) {
    return make([&](int i) { return a.v[i] - b.v[i]; });
  }
  static ScalarLanes mul(const ScalarLanes& a, const ScalarLanes& b) {
    return make([&](int i) { return a.v[i] * b.v[i]; });
  }
  static ScalarLanes div(const ScalarLanes& a, const ScalarLanes& b) {
    return make([&](int i) { return a.v[i] / b.v[i]; });
  }
  /// a * b + c, rounded once.
  static ScalarLanes fma(const ScalarLanes& a, const ScalarLanes& b, const ScalarLanes& c) {
    return make([&](int i) { return soft_fma(a.v[i], b.v[i], c.v[i]); });
  }
  /// a > b ? a : b, so b where either is NaN.
  static ScalarLanes max(const ScalarLanes& a, const ScalarLanes& b) {
    return make([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  /// a < b ? a : b, so b where either is NaN.
  static ScalarLanes min(const ScalarLanes& a, const ScalarLanes& b) {
    return make([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  /// a < b ? x : y.
  static ScalarLanes select_less(const ScalarLanes& a, const ScalarLanes& b, const ScalarLanes& x,
                                 const ScalarLanes& y) {
    return make([&](int i) { return a.v[i] < b.v[i] ? x.v[i] : y.v[i]; });
  }
  static ScalarLanes neg(const ScalarLanes& a) {
    return make([&](int i) { return -a.v[i]; });
  }
  static ScalarLanes abs(const ScalarLanes& a) {
    return make([&](int i) {
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a.v[i]) & 0x7fffffffU);
    });
  }
  /// The magnitude of `a` (which is not negative) with the sign of `s`.
  static ScalarLanes with_sign(const ScalarLanes& a, const ScalarLanes& s) {
    return make([&](int i) {
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a.v[i]) |
                                  (std::bit_cast<std::uint32_t>(s.v[i]) & 0x80000000U));
    });
  }
  /// a * 2^n for whole n in [-252, 254], in two steps of about half. A NaN in `a` stays.
  static ScalarLanes scale_by_power_of_2(const ScalarLanes& a, const ScalarLanes& n) {
    return make([&](int i) {
      if (!(n.v[i] == n.v[i])) return a.v[i];
      const auto whole = static_cast<std::int32_t>(n.v[i]);
      const std::int32_t half = whole >> 1;
      return (a.v[i] * power_of_2(half)) * power_of_2(whole - half);
    });
  }
  /// a where keep_from <= lane < keep_to, else `other`.
  static ScalarLanes keep_range(const ScalarLanes& a, int keep_from, int keep_to,
                                const ScalarLanes& other) {
    return make([&](int i) { return i >= keep_from && i < keep_to ? a.v[i] : other.v[i]; });
  }
  /// The tree of docs/arithmetic.md.
  static float sum(ScalarLanes a) {
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) a.v[i] += a.v[i + width];
    }
    return a.v[0];
  }
  static float largest(const ScalarLanes& a) {
    float m = a.v[0];
    for (int i = 1; i < kLanes; ++i) m = m > a.v[i] ? m : a.v[i];
    return m;
  }
  /// 32 floats at p, neighbours apart: even lanes to `even`, odd ones to `odd`.
  static void load_pairs(const float* p, ScalarLanes& even, ScalarLanes& odd) {
    even = make([p](int i) { return p[2 * i]; });
    odd = make([p](int i) { return p[2 * i + 1]; });
  }
  static void store_pairs(float* p, const ScalarLanes& even, const ScalarLanes& odd) {
    for (int i = 0; i < kLanes; ++i) {
      p[2 * i] = even.v[i];
      p[2 * i + 1] = odd.v[i];
    }
  }

 private:
  static float power_of_2(std::int32_t n) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23);
  }
};

}  // namespace
}  // namespace minfer::cpu
