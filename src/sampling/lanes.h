// Lanes: a few numbers that are computed together, in the vector types that gcc and clang have for
// every machine. Each lane has the bits of the scalar computation.
//
// Thread-safety: values.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace minfer::sampling {

using Floats = float __attribute__((vector_size(16)));              // 4
using FloatBits = std::uint32_t __attribute__((vector_size(16)));   // 4
using FloatPair = float __attribute__((vector_size(8)));            // 2
using Doubles = double __attribute__((vector_size(16)));            // 2
using DoubleBits = std::uint64_t __attribute__((vector_size(16)));  // 2

inline Floats load4(const float* from) {
  Floats to;
  std::memcpy(&to, from, sizeof to);
  return to;
}
inline Doubles load2(const float* from) {
  FloatPair pair;
  std::memcpy(&pair, from, sizeof pair);
  return __builtin_convertvector(pair, Doubles);
}

inline FloatBits bits_of(Floats x) { return reinterpret_cast<FloatBits>(x); }
inline DoubleBits bits_of(Doubles x) { return reinterpret_cast<DoubleBits>(x); }
inline std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline Doubles doubles_of(DoubleBits x) { return reinterpret_cast<Doubles>(x); }
inline double doubles_of(std::uint64_t x) { return std::bit_cast<double>(x); }

}  // namespace minfer::sampling
