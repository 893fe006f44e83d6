#include "cpu/kernels/kv/generic.h"
#include "cpu/kernels/kv/kv.h"
#include "cpu/kernels/lanes/avx512.h"

namespace minfer::cpu {

extern const KvKernels kKvAvx512;
constinit const KvKernels kKvAvx512 = make_kv_kernels<Avx512Lanes>();

}  // namespace minfer::cpu
