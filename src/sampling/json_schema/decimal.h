// Decimal: a number of a JSON text, exactly.
//
// Invariants: `digits` has no leading and `fraction` no trailing zeros; zero is never negative.
// Thread-safety: values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.h"

namespace minfer::sampling::schema {

struct Decimal {
  bool negative = false;
  std::string digits;    // before the point; empty for 0
  std::string fraction;  // after the point

  /// A number as JSON spells it. Nothing where it has more than kMaxDecimalDigits digits without
  /// exponent.
  static std::optional<Decimal> parse(std::string_view spelling);
  /// The number that `value` holds; nothing where that is no number, or too long.
  static std::optional<Decimal> of(const JsonValue& value);

  [[nodiscard]] bool is_integer() const { return fraction.empty(); }
  [[nodiscard]] bool is_zero() const { return digits.empty() && fraction.empty(); }
  /// The shortest spelling without exponent.
  [[nodiscard]] std::string text() const;
  /// The value of a whole number that is not negative; nothing for others and past 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> count() const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

inline constexpr std::size_t kMaxDecimalDigits = 1000;

}  // namespace minfer::sampling::schema
