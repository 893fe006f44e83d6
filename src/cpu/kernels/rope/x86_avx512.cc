#include "cpu/kernels/lanes/avx512.h"
#include "cpu/kernels/rope/generic.h"
#include "cpu/kernels/rope/rope.h"

namespace minfer::cpu {

extern const RopeKernels kRopeAvx512;
constinit const RopeKernels kRopeAvx512 = {.rope = rope<Avx512Lanes>};

}  // namespace minfer::cpu
