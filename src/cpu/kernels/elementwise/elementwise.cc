#include "cpu/kernels/elementwise/elementwise.h"

#include <array>

#include "cpu/kernels/elementwise/generic.h"
#include "cpu/kernels/lanes/scalar.h"
#include "cpu/kernels/select.h"

namespace minfer::cpu {

#define MINFER_KERNELS(table, isa) extern const ElementwiseKernels table;
#include "cpu/kernels/elementwise/kernels.inc"
#undef MINFER_KERNELS

constinit const ElementwiseKernels kElementwiseScalar = make_elementwise_kernels<ScalarLanes>();

const ElementwiseKernels& elementwise_kernels(Isa isa) {
  static constexpr std::array kRows = {
#define MINFER_KERNELS(table, isa) KernelRow<ElementwiseKernels>{&table, Isa::isa},
#include "cpu/kernels/elementwise/kernels.inc"
#undef MINFER_KERNELS
  };
  return select_kernels<ElementwiseKernels>(kRows, isa);
}

}  // namespace minfer::cpu
