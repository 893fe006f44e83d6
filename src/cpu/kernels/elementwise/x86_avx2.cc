#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/elementwise/generic.h"
#include "cpu/kernels/lanes/avx2.h"

namespace minfer::cpu {

extern const ElementwiseKernels kElementwiseAvx2;
constinit const ElementwiseKernels kElementwiseAvx2 = make_elementwise_kernels<Avx2Lanes>();

}  // namespace minfer::cpu
