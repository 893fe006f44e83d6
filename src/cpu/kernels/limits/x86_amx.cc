#include "cpu/kernels/limits/limits.h"
#include "cpu/kernels/limits/x86_vector512.h"
#include "cpu/kernels/mat_mul/x86_amx_unit.h"

namespace minfer::cpu {
namespace {

constexpr int kTileSums = 6;  // of the eight tiles; two hold the operands
constexpr AmxConfig kWholeTiles = {.palette = 1,
                                   .start_row = 0,
                                   .reserved = {},
                                   .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                   .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

std::uint64_t int8_amx(std::int64_t rounds) {
  AmxUnit::configure(kWholeTiles);  // and zeroes them
  for (std::int64_t round = 0; round < rounds; ++round) {
    AmxUnit::dot<2, 0, 1>();
    AmxUnit::dot<3, 0, 1>();
    AmxUnit::dot<4, 0, 1>();
    AmxUnit::dot<5, 0, 1>();
    AmxUnit::dot<6, 0, 1>();
    AmxUnit::dot<7, 0, 1>();
  }
  AmxUnit::release();
  return 0;
}

}  // namespace

extern const LimitKernels kLimitsAmx;
constinit const LimitKernels kLimitsAmx = {.read = read_512,
                                           .int8 = int8_amx,
                                           .int8_madds = kTileSums * 16 * 16 * 64,
                                           .float32 = float32_512,
                                           .float32_madds = kSums512 * 16};

}  // namespace minfer::cpu
