#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/elementwise/generic.h"
#include "cpu/kernels/lanes/neon.h"

namespace minfer::cpu {

extern const ElementwiseKernels kElementwiseNeon;
constinit const ElementwiseKernels kElementwiseNeon = make_elementwise_kernels<NeonLanes>();

}  // namespace minfer::cpu
