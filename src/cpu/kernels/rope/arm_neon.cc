#include "cpu/kernels/lanes/neon.h"
#include "cpu/kernels/rope/generic.h"
#include "cpu/kernels/rope/rope.h"

namespace minfer::cpu {

extern const RopeKernels kRopeNeon;
constinit const RopeKernels kRopeNeon = {.rope = rope<NeonLanes>};

}  // namespace minfer::cpu
