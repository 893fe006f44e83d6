#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/elementwise/generic.h"
#include "cpu/kernels/lanes/avx512.h"

namespace minfer::cpu {

extern const ElementwiseKernels kElementwiseAvx512;
constinit const ElementwiseKernels kElementwiseAvx512 = make_elementwise_kernels<Avx512Lanes>();

}  // namespace minfer::cpu
