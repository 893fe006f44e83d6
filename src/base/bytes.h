// bytes.h: little-endian loads and stores from any address, and integer arithmetic that reports
// overflow in place of wrapping.
//
// Thread-safety: pure functions.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace minfer {

static_assert(std::endian::native == std::endian::little, "minfer runs on little-endian machines");

/// The T whose little-endian bytes start at `from`, which need not be aligned.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] inline T load_le(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Writes the little-endian bytes of `value` at `to`, which need not be aligned.
template <class T>
  requires std::is_trivially_copyable_v<T>
inline void store_le(void* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// a + b, or nothing where that does not fit T.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a * b, or nothing where that does not fit T.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The least multiple of `alignment` (a power of two) that is not below `value`, or nothing where
/// that does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_align_up(std::uint64_t value,
                                                                      std::uint64_t alignment) {
  const auto raised = checked_add<std::uint64_t>(value, alignment - 1);
  if (!raised) return std::nullopt;
  return *raised & ~(alignment - 1);
}

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace minfer
