#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/attention/generic.h"
#include "cpu/kernels/lanes/avx2.h"

namespace minfer::cpu {

extern const AttentionKernels kAttentionAvx2;
constinit const AttentionKernels kAttentionAvx2 = make_attention_kernels<Avx2Lanes>();

}  // namespace minfer::cpu
