// soft_fma.h: the fused multiply-add of binary32 without an FMA instruction.
//
// Invariants: the same bits as IEEE 754 fma(a, b, c) in round-to-nearest for every input, NaN
// payloads aside. Method: the product is exact in binary64; the sum is rounded to odd, after which
// rounding to binary32 cannot go wrong twice (Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums", 2008).
// Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace minfer {

/// The binary64 sum product + addend, rounded to odd, then rounded to binary32.
inline float round_sum_to_odd(double product, double addend) {
  const double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);  // exact (Knuth's TwoSum)
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  // A NaN or an infinity has a NaN for its error, and both comparisons are false.
  if (error > 0 || error < 0) {
    if ((bits & 1) == 0) bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  }
  return static_cast<float>(std::bit_cast<double>(bits));
}

/// a * b + c, rounded once.
inline float soft_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double sum = product + static_cast<double>(c);
  // Two roundings differ from one only where the first made a tie of the second: the 29 bits that
  // binary32 lacks are 1000... (or fewer bits are left, below 2^-126).
  constexpr std::uint64_t kLostBits = 0x1fffffff;
  constexpr std::uint64_t kTie = 0x10000000;
  const bool tie = (std::bit_cast<std::uint64_t>(sum) & kLostBits) == kTie;
  if (!tie && std::fabs(sum) >= 0x1p-126) [[likely]] {
    return static_cast<float>(sum);
  }
  return round_sum_to_odd(product, static_cast<double>(c));
}

}  // namespace minfer
