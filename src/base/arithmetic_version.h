// The version of docs/arithmetic.md that this program computes by: it changes when the bits of any
// result do, so that saved rows of other bits are never taken for one's own.
#pragma once

namespace minfer {

inline constexpr int kArithmeticVersion = 1;

}  // namespace minfer
