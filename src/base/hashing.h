// hashing.h: 64-bit hashes (XXH3) of bytes and of sequences of values.
//
// Invariants: a hash depends on bytes and seed alone, never on addresses or the process, so it may
// be stored. Not for secrets: whoever knows the seed can make collisions.
// Thread-safety: pure functions; a Hasher is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace minfer {

/// XXH3-64 of `bytes`.
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0);

/// Hashes values one after the other: equal sequences of adds give equal digests, and ("ab", "c")
/// differs from ("a", "bc").
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 0) : state_(seed) {}

  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Hasher& add(T value) {
    return add_word(static_cast<std::uint64_t>(value));
  }
  Hasher& add(std::string_view text) {
    state_ = hash64(text, state_ + 1);
    return *this;
  }
  [[nodiscard]] std::uint64_t digest() const { return state_; }

 private:
  Hasher& add_word(std::uint64_t word);

  std::uint64_t state_;
};

}  // namespace minfer
