#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/attention/generic.h"
#include "cpu/kernels/lanes/neon.h"

namespace minfer::cpu {

extern const AttentionKernels kAttentionNeon;
constinit const AttentionKernels kAttentionNeon = make_attention_kernels<NeonLanes>();

}  // namespace minfer::cpu
