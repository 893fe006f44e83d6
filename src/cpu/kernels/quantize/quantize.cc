#include "cpu/kernels/quantize/quantize.h"

namespace minfer::cpu {

QuantizeKernel quantize_kernel(Isa isa) {
#if defined(__x86_64__)
  if (isa_includes(isa, Isa::kAvx2)) return quantize_f32_q8a_avx2;
#elif defined(__aarch64__)
  if (isa_includes(isa, Isa::kNeon)) return quantize_f32_q8a_neon;
#endif
  (void)isa;
  return quantize_f32_q8a_scalar;
}

}  // namespace minfer::cpu
