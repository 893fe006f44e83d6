// The width that docs/arithmetic.md gives to every sum, and so to every lanes type.
#pragma once

/// Unrolls the loop behind it, so that what it indexes stays in registers. (Emulated vectors have
/// none: their tests define all three macros away.)
#if defined(MINFER_UNROLL)
#elif defined(__clang__)
#define MINFER_UNROLL _Pragma("unroll")
#else
#define MINFER_UNROLL _Pragma("GCC unroll 16")
#endif

/// For functions over lanes: a call would pass 16 floats through memory.
#if !defined(MINFER_INLINE)
#define MINFER_INLINE [[gnu::always_inline]] inline
#endif

/// Computes `value` here and now, in a vector register. GCC otherwise loads it again for every use,
/// or re-associates chains of vector adds and delays them with all that they add in memory.
#if !defined(MINFER_PIN)
#if defined(__x86_64__)
#define MINFER_PIN(value) __asm__("" : "+v"(value))
#elif defined(__aarch64__)
#define MINFER_PIN(value) __asm__("" : "+w"(value))
#endif
#endif

namespace minfer::cpu {

inline constexpr int kLanes = 16;

}  // namespace minfer::cpu
