// half.h: f16 (IEEE binary16) and bf16 to and from f32, in integer arithmetic.
//
// Invariants: the same bits on every machine and under every rounding mode; narrowing rounds to
// nearest, ties to even; widening is exact. NaNs stay NaNs, come out quiet and keep their sign and
// the top of their payload, as the F16C instructions do, so vector code may use those.
// Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstdint>

namespace minfer {

/// The value of the binary16 pattern `h`: zeros, subnormals, infinities and NaNs included.
constexpr float f16_to_f32(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fu;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent == 0) {
    // A subnormal is mantissa * 2^-24, which f32 holds exactly as a normal number.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// `value` rounded to the nearest binary16, ties to even; too large becomes infinity.
constexpr std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 2^16
  if (magnitude < 0x38800000u) {                                                    // < 2^-14
    if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);           // < 2^-25
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t shift = 126u - (magnitude >> 23);  // 14 .. 24
    const std::uint32_t half = 1u << (shift - 1);
    const std::uint32_t odd = (mantissa >> shift) & 1u;
    return static_cast<std::uint16_t>(sign | ((mantissa + half - 1 + odd) >> shift));
  }
  // A carry out of the mantissa moves into the exponent, and past the last one into infinity.
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

/// The value of the bfloat16 pattern `h`: the upper half of an f32.
constexpr float bf16_to_f32(std::uint16_t h) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
}

/// `value` rounded to the nearest bfloat16, ties to even; a NaN becomes a quiet NaN.
constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace minfer
