// Counter-based random numbers: a draw is a function of (seed, attempt, position) and of nothing
// that came before, so that a resumed, batched or repeated run draws the same.
//
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstdint>

namespace minfer::sampling {

/// Philox4x32-10 (Salmon et al., 2011, "Parallel random numbers: as easy as 1, 2, 3").
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// A uniform draw in [0, 1) with 53 random bits, for `position` of the sequence under (seed,
/// attempt).
double uniform_draw(std::uint64_t seed, std::uint32_t attempt, std::uint64_t position);

}  // namespace minfer::sampling
