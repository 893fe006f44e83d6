#include "gguf/value.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "base/printable.h"

namespace minfer::gguf {
namespace {

std::string describe(const Value& value) {
  if (!value.is_array()) return std::string(value_type_name(value.type()));
  return fmt::format("array of {}", value_type_name(value.element_type()));
}

Status wrong_type(const Value& value, std::string_view wanted) {
  return invalid_argument(fmt::format("has type {}, should be {}", describe(value), wanted));
}

// Calls visit(number) with the number at `at` in its own type; false where `type` is no number.
template <class Visit>
bool visit_number(ValueType type, const std::byte* at, Visit&& visit) {
  switch (type) {
    case ValueType::kU8:
      visit(load_le<std::uint8_t>(at));
      return true;
    case ValueType::kI8:
      visit(load_le<std::int8_t>(at));
      return true;
    case ValueType::kU16:
      visit(load_le<std::uint16_t>(at));
      return true;
    case ValueType::kI16:
      visit(load_le<std::int16_t>(at));
      return true;
    case ValueType::kU32:
      visit(load_le<std::uint32_t>(at));
      return true;
    case ValueType::kI32:
      visit(load_le<std::int32_t>(at));
      return true;
    case ValueType::kU64:
      visit(load_le<std::uint64_t>(at));
      return true;
    case ValueType::kI64:
      visit(load_le<std::int64_t>(at));
      return true;
    case ValueType::kF32:
      visit(load_le<float>(at));
      return true;
    case ValueType::kF64:
      visit(load_le<double>(at));
      return true;
    default:
      return false;
  }
}

bool is_integer(ValueType type) {
  return type != ValueType::kF32 && type != ValueType::kF64 && type != ValueType::kBool &&
         value_type_size(type) != 0;
}

template <class To>
Result<To> to_integer(const Value& value) {
  if (!is_integer(value.type())) return wrong_type(value, "an integer");
  To result = 0;
  bool fits = false;
  visit_number(value.type(), value.bytes().data(), [&](auto number) {
    if constexpr (std::integral<decltype(number)>) {
      fits = std::in_range<To>(number);
      if (fits) result = static_cast<To>(number);
    }
  });
  if (!fits) {
    return invalid_argument(fmt::format("is {}, outside of {}..{}", value.to_string(),
                                        std::numeric_limits<To>::min(),
                                        std::numeric_limits<To>::max()));
  }
  return result;
}

// One element of an array; false where it does not fit To.
template <class To, class From>
bool convert(From from, To& to) {
  if constexpr (std::integral<To> && std::integral<From>) {
    if (!std::in_range<To>(from)) return false;
  }
  to = static_cast<To>(from);
  return true;
}

}  // namespace

std::string_view value_type_name(ValueType type) {
  switch (type) {
    case ValueType::kU8:
      return "u8";
    case ValueType::kI8:
      return "i8";
    case ValueType::kU16:
      return "u16";
    case ValueType::kI16:
      return "i16";
    case ValueType::kU32:
      return "u32";
    case ValueType::kI32:
      return "i32";
    case ValueType::kF32:
      return "f32";
    case ValueType::kBool:
      return "bool";
    case ValueType::kString:
      return "string";
    case ValueType::kArray:
      return "array";
    case ValueType::kU64:
      return "u64";
    case ValueType::kI64:
      return "i64";
    case ValueType::kF64:
      return "f64";
  }
  return "unknown";
}

std::size_t value_type_size(ValueType type) {
  switch (type) {
    case ValueType::kU8:
    case ValueType::kI8:
    case ValueType::kBool:
      return 1;
    case ValueType::kU16:
    case ValueType::kI16:
      return 2;
    case ValueType::kU32:
    case ValueType::kI32:
    case ValueType::kF32:
      return 4;
    case ValueType::kU64:
    case ValueType::kI64:
    case ValueType::kF64:
      return 8;
    case ValueType::kString:
    case ValueType::kArray:
      return 0;
  }
  return 0;
}

Result<std::uint64_t> Value::as_u64() const { return to_integer<std::uint64_t>(*this); }
Result<std::int64_t> Value::as_i64() const { return to_integer<std::int64_t>(*this); }

Result<double> Value::as_f64() const {
  double result = 0;
  const bool is_number = visit_number(type_, bytes_.data(),
                                      [&](auto number) { result = static_cast<double>(number); });
  if (!is_number) return wrong_type(*this, "a number");
  return result;
}

Result<bool> Value::as_bool() const {
  if (type_ != ValueType::kBool) return wrong_type(*this, "a bool");
  return load_le<std::uint8_t>(bytes_.data()) != 0;
}

Result<std::string_view> Value::as_string() const {
  if (type_ != ValueType::kString) return wrong_type(*this, "a string");
  return as_text(bytes_);
}

Result<StringArray> Value::as_strings() const {
  if (!is_array() || element_type_ != ValueType::kString) {
    return wrong_type(*this, "an array of strings");
  }
  return StringArray(bytes_, size_);
}

template <class T>
Result<std::vector<T>> Value::as_numbers() const {
  constexpr bool kWantsInteger = std::integral<T>;
  const bool usable =
      is_array() &&
      (kWantsInteger ? is_integer(element_type_) || element_type_ == ValueType::kBool
                     : value_type_size(element_type_) != 0 && element_type_ != ValueType::kBool);
  if (!usable) {
    return wrong_type(*this, kWantsInteger ? "an array of integers" : "an array of numbers");
  }
  const ValueType stored = element_type_ == ValueType::kBool ? ValueType::kU8 : element_type_;
  const std::size_t stride = value_type_size(stored);
  std::vector<T> values(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    bool fits = false;
    visit_number(stored, bytes_.data() + i * stride,
                 [&](auto number) { fits = convert(number, values[i]); });
    if (!fits) {
      return invalid_argument(fmt::format("element {} is outside of {}..{}", i,
                                          std::numeric_limits<T>::lowest(),
                                          std::numeric_limits<T>::max()));
    }
  }
  return values;
}

template Result<std::vector<std::int32_t>> Value::as_numbers() const;
template Result<std::vector<std::uint32_t>> Value::as_numbers() const;
template Result<std::vector<std::int64_t>> Value::as_numbers() const;
template Result<std::vector<std::uint64_t>> Value::as_numbers() const;
template Result<std::vector<float>> Value::as_numbers() const;
template Result<std::vector<double>> Value::as_numbers() const;

namespace {

std::string scalar_to_string(ValueType type, std::span<const std::byte> bytes,
                             std::size_t max_chars) {
  if (type == ValueType::kString) return '"' + printable(as_text(bytes), max_chars) + '"';
  if (type == ValueType::kBool) return load_le<std::uint8_t>(bytes.data()) != 0 ? "true" : "false";
  std::string text;
  visit_number(type, bytes.data(), [&](auto number) { text = fmt::format("{}", number); });
  return text;
}

}  // namespace

std::string Value::to_string(std::size_t max_chars) const {
  if (!is_array()) return scalar_to_string(type_, bytes_, max_chars);
  std::string text = fmt::format("[{} x {}", value_type_name(element_type_), size_);
  auto string = StringArray(bytes_, element_type_ == ValueType::kString ? size_ : 0).begin();
  const std::size_t stride = value_type_size(element_type_);
  for (std::size_t i = 0; i < size_; ++i) {
    text += i == 0 ? ": " : ", ";
    if (text.size() >= max_chars) {
      text += "...";
      break;
    }
    if (element_type_ == ValueType::kString) {
      text += scalar_to_string(ValueType::kString, as_bytes(*string), max_chars - text.size());
      ++string;
    } else {
      text += scalar_to_string(element_type_, bytes_.subspan(i * stride, stride), max_chars);
    }
  }
  return text + "]";
}

}  // namespace minfer::gguf
