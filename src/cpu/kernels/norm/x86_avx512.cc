#include "cpu/kernels/lanes/avx512.h"
#include "cpu/kernels/norm/generic.h"
#include "cpu/kernels/norm/norm.h"

namespace minfer::cpu {

extern const NormKernels kNormAvx512;
constinit const NormKernels kNormAvx512 = {.rms_norm = rms_norm<Avx512Lanes>};

}  // namespace minfer::cpu
