// x86_amx_unit.h: the tile instructions of AMX int8 as a policy for x86_amx_product.h. For the
// files x86_amx*.cc alone; internal linkage.
//
// Owns nothing: the tile registers belong to the thread, between configure() and release().
// Thread-safety: a thread sees its own tiles.
#pragma once

#include "cpu/kernels/lanes/lanes.h"
#include "cpu/kernels/mat_mul/x86_amx_config.h"

namespace minfer::cpu {
namespace {

/// The compilers' own wrappers do not say that memory is read and written.
struct AmxUnit {
  MINFER_INLINE static void configure(const AmxConfig& config) {
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
  }
  MINFER_INLINE static void release() { __asm__ volatile("tilerelease"); }
  /// The rows of tile kTile from `from` on, `stride` bytes apart.
  template <int kTile>
  MINFER_INLINE static void load(const void* from, std::int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile)
                     : "memory");
  }
  template <int kTile>
  MINFER_INLINE static void store(void* to, std::int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile)
                     : "memory");
  }
  template <int kTile>
  MINFER_INLINE static void zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  /// sum[m][n] += the 4 products s8 x s8 of a[m][k] and b[k][n], k by k.
  template <int kSum, int kA, int kB>
  MINFER_INLINE static void dot() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace
}  // namespace minfer::cpu
