#include "sampling/json_schema/decimal.h"

#include <fmt/format.h>

#include <charconv>

namespace minfer::sampling::schema {

std::optional<Decimal> Decimal::parse(std::string_view spelling) {
  Decimal out;
  if (spelling.starts_with('-')) {
    out.negative = true;
    spelling.remove_prefix(1);
  }
  long exponent = 0;
  if (const std::size_t e = spelling.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view power = spelling.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec != std::errc())
      return std::nullopt;
    spelling = spelling.substr(0, e);
  }
  const std::size_t point = spelling.find('.');
  out.digits = spelling.substr(0, point);
  if (point != std::string_view::npos) out.fraction = spelling.substr(point + 1);
  const long most = static_cast<long>(kMaxDecimalDigits);
  if (exponent > most || exponent < -most) return std::nullopt;
  for (; exponent > 0; --exponent) {
    out.digits += out.fraction.empty() ? '0' : out.fraction[0];
    if (!out.fraction.empty()) out.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    out.fraction.insert(out.fraction.begin(), out.digits.empty() ? '0' : out.digits.back());
    if (!out.digits.empty()) out.digits.pop_back();
  }
  out.digits.erase(0, std::min(out.digits.find_first_not_of('0'), out.digits.size()));
  out.fraction.erase(out.fraction.find_last_not_of('0') + 1);
  if (out.digits.size() + out.fraction.size() > kMaxDecimalDigits) return std::nullopt;
  if (out.is_zero()) out.negative = false;
  return out;
}

std::optional<Decimal> Decimal::of(const JsonValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data))
    return parse(fmt::format("{}", *integer));
  if (const auto* number = std::get_if<double>(&value.data))
    return parse(value.spelling.empty() ? fmt::format("{}", *number) : value.spelling);
  return std::nullopt;
}

std::string Decimal::text() const {
  std::string out = negative ? "-" : "";
  out += digits.empty() ? "0" : digits;
  if (!fraction.empty()) out += "." + fraction;
  return out;
}

std::optional<std::uint64_t> Decimal::count() const {
  if (negative || !fraction.empty()) return std::nullopt;
  std::uint64_t value = 0;
  if (!digits.empty() &&
      std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

}  // namespace minfer::sampling::schema
