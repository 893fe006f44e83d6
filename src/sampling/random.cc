#include "sampling/random.h"

namespace minfer::sampling {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Draws draws_at(std::uint64_t seed, std::uint32_t attempt, std::uint64_t position) {
  const std::array<std::uint32_t, 4> bits =
      philox4x32({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                  attempt, 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const auto uniform = [](std::uint32_t high, std::uint32_t low) {
    const std::uint64_t wide = (static_cast<std::uint64_t>(high) << 32) | low;
    return static_cast<double>(wide >> 11) * 0x1.0p-53;
  };
  return {.token = uniform(bits[0], bits[1]), .coin = uniform(bits[2], bits[3])};
}

}  // namespace minfer::sampling
