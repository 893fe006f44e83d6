#include "base/hashing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace minfer {

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

Hasher& Hasher::add_word(std::uint64_t word) {
  state_ = XXH3_64bits_withSeed(&word, sizeof word, state_);
  return *this;
}

}  // namespace minfer
