#include "cpu/kernels/kv/generic.h"
#include "cpu/kernels/kv/kv.h"
#include "cpu/kernels/lanes/neon.h"

namespace minfer::cpu {

extern const KvKernels kKvNeon;
constinit const KvKernels kKvNeon = make_kv_kernels<NeonLanes>();

}  // namespace minfer::cpu
