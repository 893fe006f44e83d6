#include "cpu/kernels/rope/rope.h"

#include <array>

#include "cpu/kernels/lanes/scalar.h"
#include "cpu/kernels/rope/generic.h"
#include "cpu/kernels/select.h"

namespace minfer::cpu {

#define MINFER_KERNELS(table, isa) extern const RopeKernels table;
#include "cpu/kernels/rope/kernels.inc"
#undef MINFER_KERNELS

constinit const RopeKernels kRopeScalar = {.rope = rope<ScalarLanes>};

const RopeKernels& rope_kernels(Isa isa) {
  static constexpr std::array kRows = {
#define MINFER_KERNELS(table, isa) KernelRow<RopeKernels>{&table, Isa::isa},
#include "cpu/kernels/rope/kernels.inc"
#undef MINFER_KERNELS
  };
  return select_kernels<RopeKernels>(kRows, isa);
}

}  // namespace minfer::cpu
