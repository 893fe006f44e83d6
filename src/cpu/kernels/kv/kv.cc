#include "cpu/kernels/kv/kv.h"

#include <array>

#include "cpu/kernels/kv/generic.h"
#include "cpu/kernels/lanes/scalar.h"
#include "cpu/kernels/select.h"

namespace minfer::cpu {

#define MINFER_KERNELS(table, isa) extern const KvKernels table;
#include "cpu/kernels/kv/kernels.inc"
#undef MINFER_KERNELS

constinit const KvKernels kKvScalar = make_kv_kernels<ScalarLanes>();

const KvKernels& kv_kernels(Isa isa) {
  static constexpr std::array kRows = {
#define MINFER_KERNELS(table, isa) KernelRow<KvKernels>{&table, Isa::isa},
#include "cpu/kernels/kv/kernels.inc"
#undef MINFER_KERNELS
  };
  return select_kernels<KvKernels>(kRows, isa);
}

}  // namespace minfer::cpu
