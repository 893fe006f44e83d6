#include "cpu/kernels/kv/generic.h"
#include "cpu/kernels/kv/kv.h"
#include "cpu/kernels/lanes/avx2.h"

namespace minfer::cpu {

extern const KvKernels kKvAvx2;
constinit const KvKernels kKvAvx2 = make_kv_kernels<Avx2Lanes>();

}  // namespace minfer::cpu
