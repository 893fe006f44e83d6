#include "cpu/kernels/limits/limits.h"

#include <array>

#include "cpu/kernels/select.h"

namespace minfer::cpu {
namespace {

/// The compiler may neither know the value at `p` nor keep it from being computed.
template <class T>
void opaque(T* p) {
  asm volatile("" : : "r"(p) : "memory");
}

// The vectors of every 64-bit baseline: 16 bytes.
using Words = std::uint64_t __attribute__((vector_size(16)));
using Numbers = float __attribute__((vector_size(16)));

std::uint64_t read_scalar(const std::byte* from, std::int64_t n_bytes) {
  Words a{}, b{}, c{}, d{};
  for (std::int64_t at = 0; at < n_bytes; at += 4 * sizeof(Words)) {
    const auto* words = reinterpret_cast<const Words*>(from + at);
    a ^= words[0];
    b ^= words[1];
    c ^= words[2];
    d ^= words[3];
  }
  a ^= b ^ c ^ d;
  return a[0] ^ a[1];
}

constexpr int kScalarProducts = 512;

/// Sixteen-bit values in the nearest cache: what the baseline has an instruction for.
std::uint64_t int8_scalar(std::int64_t rounds) {
  std::int16_t x[kScalarProducts] = {};
  std::int16_t y[kScalarProducts] = {};
  std::int32_t sum = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    opaque(x);
    opaque(y);
    for (int i = 0; i < kScalarProducts; ++i) sum += x[i] * y[i];
  }
  return static_cast<std::uint64_t>(sum);
}

constexpr int kScalarFloats = 8 * 4;

/// A multiplication and an addition: the baseline fuses none.
std::uint64_t float32_scalar(std::int64_t rounds) {
  Numbers factor{};
  Numbers start[8] = {};
  opaque(&factor);
  opaque(start);
  Numbers a = start[0], b = start[1], c = start[2], d = start[3];
  Numbers e = start[4], f = start[5], g = start[6], h = start[7];
  for (std::int64_t round = 0; round < rounds; ++round) {
    a = a * factor + factor;
    b = b * factor + factor;
    c = c * factor + factor;
    d = d * factor + factor;
    e = e * factor + factor;
    f = f * factor + factor;
    g = g * factor + factor;
    h = h * factor + factor;
  }
  a += b + c + d + e + f + g + h;
  return static_cast<std::uint64_t>(a[0]);
}

}  // namespace

#define MINFER_KERNELS(table, isa) extern const LimitKernels table;
#include "cpu/kernels/limits/kernels.inc"
#undef MINFER_KERNELS

constinit const LimitKernels kLimitsScalar = {.read = read_scalar,
                                              .int8 = int8_scalar,
                                              .int8_madds = kScalarProducts,
                                              .float32 = float32_scalar,
                                              .float32_madds = kScalarFloats};

const LimitKernels& limit_kernels(Isa isa) {
  static constexpr std::array kRows = {
#define MINFER_KERNELS(table, isa) KernelRow<LimitKernels>{&table, Isa::isa},
#include "cpu/kernels/limits/kernels.inc"
#undef MINFER_KERNELS
  };
  return select_kernels<LimitKernels>(kRows, isa);
}

}  // namespace minfer::cpu
