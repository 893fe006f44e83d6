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

/// The random numbers of one token, uniform in [0, 1) with 53 bits each: one Philox block has four
/// words, of which the draw takes the first two and XTC's coin the last two. Switching XTC on
/// therefore moves no draw.
struct Draws {
  double token;
  double coin;
};

/// Those of `position` of the sequence under (seed, attempt).
Draws draws_at(std::uint64_t seed, std::uint32_t attempt, std::uint64_t position);

}  // namespace minfer::sampling
