#include "cpu/kernels/lanes/avx2.h"
#include "cpu/kernels/rope/generic.h"
#include "cpu/kernels/rope/rope.h"

namespace minfer::cpu {

extern const RopeKernels kRopeAvx2;
constinit const RopeKernels kRopeAvx2 = {.rope = rope<Avx2Lanes>};

}  // namespace minfer::cpu
