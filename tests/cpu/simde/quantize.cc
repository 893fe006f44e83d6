// The quantisation of rows in AVX2 on any machine, in SIMDe's vectors, under a name of its own.

#define quantize_f32_q8a_avx2 quantize_f32_q8a_avx2_emulated
#include "cpu/kernels/quantize/x86_avx2.cc"
