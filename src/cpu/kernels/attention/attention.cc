#include "cpu/kernels/attention/attention.h"

#include <array>

#include "cpu/kernels/attention/generic.h"
#include "cpu/kernels/lanes/scalar.h"
#include "cpu/kernels/select.h"

namespace minfer::cpu {

#define MINFER_KERNELS(table, isa) extern const AttentionKernels table;
#include "cpu/kernels/attention/kernels.inc"
#undef MINFER_KERNELS

constinit const AttentionKernels kAttentionScalar = make_attention_kernels<ScalarLanes>();

const AttentionKernels& attention_kernels(Isa isa) {
  static constexpr std::array kRows = {
#define MINFER_KERNELS(table, isa) KernelRow<AttentionKernels>{&table, Isa::isa},
#include "cpu/kernels/attention/kernels.inc"
#undef MINFER_KERNELS
  };
  return select_kernels<AttentionKernels>(kRows, isa);
}

}  // namespace minfer::cpu
