#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/attention/generic.h"
#include "cpu/kernels/lanes/avx512.h"

namespace minfer::cpu {

extern const AttentionKernels kAttentionAvx512;
constinit const AttentionKernels kAttentionAvx512 = make_attention_kernels<Avx512Lanes>();

}  // namespace minfer::cpu
