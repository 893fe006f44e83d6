#include "cpu/kernels/lanes/neon.h"
#include "cpu/kernels/norm/generic.h"
#include "cpu/kernels/norm/norm.h"

namespace minfer::cpu {

extern const NormKernels kNormNeon;
constinit const NormKernels kNormNeon = {.rms_norm = rms_norm<NeonLanes>};

}  // namespace minfer::cpu
