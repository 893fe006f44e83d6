#include "cpu/kernels/limits/limits.h"

#include <array>
#include <cstring>

#include "cpu/kernels/select.h"

namespace minfer::cpu {
namespace {

/// The compiler may neither know the value at `p` nor keep it from being computed.
template <class T>
void opaque(T* p) {
  asm volatile("" : : "r"(p) : "memory");
}

std::uint64_t read_scalar(const std::byte* from, std::int64_t n_bytes) {
  constexpr int kSums = 16;
  std::uint64_t sums[kSums] = {};
  for (std::int64_t at = 0; at < n_bytes; at += kSums * 8) {
    std::uint64_t words[kSums];
    std::memcpy(words, from + at, sizeof(words));
    for (int i = 0; i < kSums; ++i) sums[i] += words[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum += each;
  return sum;
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

constexpr int kScalarFloats = 32;

std::uint64_t float32_scalar(std::int64_t rounds) {
  float factor[4] = {};
  float sums[kScalarFloats] = {};
  opaque(factor);
  opaque(sums);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kScalarFloats; ++i) sums[i] = sums[i] * factor[i % 4] + factor[i % 4];
  }
  opaque(sums);
  return static_cast<std::uint64_t>(sums[0]);
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
