// plain.h: the block-quantised types as a file holds them, seen in one way: blocks of one or more
// sub-blocks of 32 elements, codes in 8 words ("steps") of 4, floats beside them.
//
// The scalar kernels read blocks through these structs, and interleaving re-orders by them. quant/
// documents each layout. Only generic code includes this: vector code must not.
// Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.h"
#include "base/half.h"
#include "quant/k_scales.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace minfer::cpu {

/// Codes of 32 elements, a byte each: byte i of word s is that of element 4 s + i.
using Steps = std::uint32_t[8];

inline constexpr std::uint32_t kLow4 = 0x0f0f0f0f;
inline constexpr std::uint32_t kLow2 = 0x03030303;
inline constexpr std::uint32_t kLow1 = 0x01010101;

/// Bit i of a 4-bit number to bit 0 of byte i.
constexpr std::uint32_t spread_bits(std::uint32_t bits) { return (bits * 0x00204081u) & kLow1; }

inline void load_nibbles(const std::uint8_t (&qs)[16], Steps& steps) {
  for (int u = 0; u < 4; ++u) {
    const auto word = load_le<std::uint32_t>(qs + 4 * u);
    steps[u] = word & kLow4;
    steps[u + 4] = (word >> 4) & kLow4;
  }
}
inline void add_fifth_bits(const std::uint8_t (&qh)[4], Steps& steps) {
  const auto bits = load_le<std::uint32_t>(qh);
  for (int s = 0; s < 8; ++s) steps[s] |= spread_bits((bits >> (4 * s)) & 0xfu) << 4;
}

/// Replaces the bits `mask << shift` of the word at `at` by those of `value`.
inline void merge_word(std::uint8_t* at, std::uint32_t mask, int shift, std::uint32_t value) {
  const auto word = load_le<std::uint32_t>(at);
  store_le(at, (word & ~(mask << shift)) | ((value & mask) << shift));
}

// Each struct: Block, kSubs sub-blocks of 32 elements, kOffset taken from every code, kHasMin, and
//   load(block, sub, steps)                             the codes, offset not taken
//   store(steps, sub, block)                            the same back, where there are 8 sub-blocks
//   scale(block, sub), min(block, sub)                  what docs/arithmetic.md calls d, d', m, m'

struct PlainQ4_0 {
  using Block = quant::BlockQ4_0;
  static constexpr int kSubs = 1;
  static constexpr int kOffset = 8;
  static constexpr bool kHasMin = false;
  static void load(const Block& block, int, Steps& steps) { load_nibbles(block.qs, steps); }
  static float scale(const Block& block, int) { return f16_to_f32(block.d); }
};

struct PlainQ4_1 {
  using Block = quant::BlockQ4_1;
  static constexpr int kSubs = 1;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static void load(const Block& block, int, Steps& steps) { load_nibbles(block.qs, steps); }
  static float scale(const Block& block, int) { return f16_to_f32(block.d); }
  static float min(const Block& block, int) { return f16_to_f32(block.m); }
};

struct PlainQ5_0 {
  using Block = quant::BlockQ5_0;
  static constexpr int kSubs = 1;
  static constexpr int kOffset = 16;
  static constexpr bool kHasMin = false;
  static void load(const Block& block, int, Steps& steps) {
    load_nibbles(block.qs, steps);
    add_fifth_bits(block.qh, steps);
  }
  static float scale(const Block& block, int) { return f16_to_f32(block.d); }
};

struct PlainQ5_1 {
  using Block = quant::BlockQ5_1;
  static constexpr int kSubs = 1;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static void load(const Block& block, int, Steps& steps) {
    load_nibbles(block.qs, steps);
    add_fifth_bits(block.qh, steps);
  }
  static float scale(const Block& block, int) { return f16_to_f32(block.d); }
  static float min(const Block& block, int) { return f16_to_f32(block.m); }
};

/// Codes are two's complement here, offset 0.
struct PlainQ8_0 {
  using Block = quant::BlockQ8_0;
  static constexpr int kSubs = 1;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  static void load(const Block& block, int, Steps& steps) {
    for (int s = 0; s < 8; ++s) steps[s] = load_le<std::uint32_t>(block.qs + 4 * s);
  }
  static float scale(const Block& block, int) { return f16_to_f32(block.d); }
};

/// What Q4_K and Q5_K share.
template <class BlockType>
struct PlainK {
  using Block = BlockType;
  static constexpr int kSubs = 8;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  static float scale(const Block& block, int sub) {
    return f16_to_f32(block.d) *
           static_cast<float>(quant::unpack_k_scales(block.scales).scale[sub]);
  }
  static float min(const Block& block, int sub) {
    return -(f16_to_f32(block.dmin) *
             static_cast<float>(quant::unpack_k_scales(block.scales).min[sub]));
  }
  static void load_low(const Block& block, int sub, Steps& steps) {
    for (int s = 0; s < 8; ++s) {
      const auto word = load_le<std::uint32_t>(block.qs + 32 * (sub / 2) + 4 * s);
      steps[s] = (word >> (4 * (sub % 2))) & kLow4;
    }
  }
  static void store_low(const Steps& steps, int sub, Block& block) {
    for (int s = 0; s < 8; ++s) {
      merge_word(block.qs + 32 * (sub / 2) + 4 * s, kLow4, 4 * (sub % 2), steps[s]);
    }
  }
};

struct PlainQ4_K : PlainK<quant::BlockQ4_K> {
  static void load(const Block& block, int sub, Steps& steps) { load_low(block, sub, steps); }
  static void store(const Steps& steps, int sub, Block& block) { store_low(steps, sub, block); }
};

struct PlainQ5_K : PlainK<quant::BlockQ5_K> {
  static void load(const Block& block, int sub, Steps& steps) {
    load_low(block, sub, steps);
    for (int s = 0; s < 8; ++s) {
      steps[s] |= ((load_le<std::uint32_t>(block.qh + 4 * s) >> sub) & kLow1) << 4;
    }
  }
  static void store(const Steps& steps, int sub, Block& block) {
    store_low(steps, sub, block);
    for (int s = 0; s < 8; ++s) merge_word(block.qh + 4 * s, kLow1, sub, steps[s] >> 4);
  }
};

/// Two integer scales a sub-block, block.scales[2 sub] and [2 sub + 1], beside the float one.
struct PlainQ6_K {
  using Block = quant::BlockQ6_K;
  static constexpr int kSubs = 8;
  static constexpr int kOffset = 32;
  static constexpr bool kHasMin = false;
  static void load(const Block& block, int sub, Steps& steps) {
    const int half = sub / 4;
    const int part = sub % 4;
    for (int s = 0; s < 8; ++s) {
      const auto low = load_le<std::uint32_t>(block.ql + 64 * half + 32 * (part % 2) + 4 * s);
      const auto high = load_le<std::uint32_t>(block.qh + 32 * half + 4 * s);
      steps[s] = ((low >> (4 * (part / 2))) & kLow4) | (((high >> (2 * part)) & kLow2) << 4);
    }
  }
  static void store(const Steps& steps, int sub, Block& block) {
    const int half = sub / 4;
    const int part = sub % 4;
    for (int s = 0; s < 8; ++s) {
      merge_word(block.ql + 64 * half + 32 * (part % 2) + 4 * s, kLow4, 4 * (part / 2), steps[s]);
      merge_word(block.qh + 32 * half + 4 * s, kLow2, 2 * part, steps[s] >> 4);
    }
  }
  static float scale(const Block& block, int) { return f16_to_f32(block.d); }
};

}  // namespace minfer::cpu
