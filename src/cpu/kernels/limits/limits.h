// Loops that do nothing but what a machine is limited by: reading memory, multiplying and adding.
//
// Invariants: the multiplications stay in registers, with as many sums under way as hide an
// instruction's latency; nothing of them is left out by the compiler. Results only keep it so.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"

namespace minfer::cpu {

/// read() takes a multiple of it.
inline constexpr std::int64_t kReadChunk = 1024;

struct LimitKernels {
  /// Sum of the words of n_bytes at a 64-byte border.
  std::uint64_t (*read)(const std::byte* from, std::int64_t n_bytes);
  /// `rounds` rounds of int8_madds multiply-adds of bytes with the widest instructions that the
  /// matrix kernels of the set may use, each product added to a sum.
  std::uint64_t (*int8)(std::int64_t rounds);
  std::int64_t int8_madds;
  /// The same with F32.
  std::uint64_t (*float32)(std::int64_t rounds);
  std::int64_t float32_madds;
};

/// The kernels for `isa`, or for the best set below it that has any.
const LimitKernels& limit_kernels(Isa isa);

}  // namespace minfer::cpu
