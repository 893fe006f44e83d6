// The width that docs/arithmetic.md gives to every sum, and so to every lanes type.
#pragma once

/// Unrolls the loop behind it, so that what it indexes stays in registers. (Emulated vectors have
/// none: their tests define both macros away.)
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

namespace minfer::cpu {

inline constexpr int kLanes = 16;

}  // namespace minfer::cpu
