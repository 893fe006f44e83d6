// Products with plain F32, F16 and BF16 weights in NEON.

#include "cpu/kernels/lanes/neon.h"
#include "cpu/kernels/mat_mul/float_product.h"

namespace minfer::cpu {

void mat_mul_f32_f32_neon(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  float_product<NeonLanes, F32<NeonLanes>>(args, tile_begin, tile_end);
}
void mat_mul_f16_f32_neon(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  float_product<NeonLanes, F16<NeonLanes>>(args, tile_begin, tile_end);
}
void mat_mul_bf16_f32_neon(const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  float_product<NeonLanes, BF16<NeonLanes>>(args, tile_begin, tile_end);
}

}  // namespace minfer::cpu
