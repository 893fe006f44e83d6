#include "cpu/kernels/norm/norm.h"

#include <array>

#include "cpu/kernels/lanes/scalar.h"
#include "cpu/kernels/norm/generic.h"
#include "cpu/kernels/select.h"

namespace minfer::cpu {

#define MINFER_KERNELS(table, isa) extern const NormKernels table;
#include "cpu/kernels/norm/kernels.inc"
#undef MINFER_KERNELS

constinit const NormKernels kNormScalar = {.rms_norm = rms_norm<ScalarLanes>};

const NormKernels& norm_kernels(Isa isa) {
  static constexpr std::array kRows = {
#define MINFER_KERNELS(table, isa) KernelRow<NormKernels>{&table, Isa::isa},
#include "cpu/kernels/norm/kernels.inc"
#undef MINFER_KERNELS
  };
  return select_kernels<NormKernels>(kRows, isa);
}

}  // namespace minfer::cpu
