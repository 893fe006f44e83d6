#include "cpu/kernels/lanes/avx2.h"
#include "cpu/kernels/norm/generic.h"
#include "cpu/kernels/norm/norm.h"

namespace minfer::cpu {

extern const NormKernels kNormAvx2;
constinit const NormKernels kNormAvx2 = {.rms_norm = rms_norm<Avx2Lanes>};

}  // namespace minfer::cpu
