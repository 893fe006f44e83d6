#include "model/key_reader.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"

namespace minfer::model {

Status model_error(const gguf::File& file, std::string_view text) {
  return corrupt(fmt::format("[model] {}: {}", file.path(), text));
}

std::string KeyReader::full_key(std::string_view name) const {
  return fmt::format("{}.{}", arch_, name);
}

bool KeyReader::is_array(std::string_view name) const {
  const gguf::Value* value = file_.find_value(full_key(name));
  return value != nullptr && value->is_array();
}

template <class T>
std::optional<T> KeyReader::take(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  fail(result.status());
  return std::nullopt;
}

void KeyReader::fail(std::string_view name, std::string_view value, std::string_view expected) {
  fail(model_error(
      file_, fmt::format("key \"{}\" is {}, but expected {}", full_key(name), value, expected)));
}

void KeyReader::fail_unsupported(std::string_view name, std::string_view value,
                                 std::string_view expected) {
  fail(unsupported(fmt::format("[model] {}: key \"{}\" is {}, but this build supports {}",
                               file_.path(), full_key(name), value, expected)));
}

std::int32_t KeyReader::in_range(std::string_view name, std::int64_t value, Range range) {
  if (value >= range.least && value <= range.most) return static_cast<std::int32_t>(value);
  fail(name, fmt::to_string(value), fmt::format("{} to {}", range.least, range.most));
  return static_cast<std::int32_t>(range.least);
}

std::int64_t KeyReader::integer(std::string_view name) {
  return take(file_.i64(full_key(name))).value_or(0);
}

std::int32_t KeyReader::count(std::string_view name, Range range,
                              std::optional<std::int64_t> fallback) {
  const std::string key = full_key(name);
  if (fallback && !file_.has(key)) return in_range(name, *fallback, range);
  const auto value = take(file_.i64(key));
  return value ? in_range(name, *value, range) : static_cast<std::int32_t>(range.least);
}

std::vector<std::int32_t> KeyReader::per_layer(std::string_view name, std::int32_t n_layer,
                                               Range range, std::optional<std::int64_t> fallback) {
  const auto n = static_cast<std::size_t>(n_layer);
  std::vector<std::int32_t> all(n, static_cast<std::int32_t>(range.least));
  if (!is_array(name)) {
    all.assign(n, count(name, range, fallback));
    return all;
  }
  const auto values = take(file_.numbers<std::int64_t>(full_key(name)));
  if (!values) return all;
  if (values->size() != n) {
    fail(name, fmt::format("an array of {}", values->size()),
         fmt::format("one value for each of {} layers", n));
    return all;
  }
  for (std::size_t i = 0; i < n; ++i) all[i] = in_range(name, (*values)[i], range);
  return all;
}

float KeyReader::real(std::string_view name, double above, double most,
                      std::optional<float> fallback) {
  const std::string key = full_key(name);
  if (fallback && !file_.has(key)) return *fallback;
  const auto value = take(file_.f64(key));
  if (!value) return static_cast<float>(most);
  const auto narrow = static_cast<float>(*value);
  if (std::isfinite(*value) && narrow > static_cast<float>(above) && *value <= most) return narrow;
  fail(name, fmt::format("{:g}", *value),
       fmt::format("a number above {:g} and at most {:g}", above, most));
  return static_cast<float>(most);
}

bool KeyReader::boolean(std::string_view name, bool fallback) {
  return take(file_.boolean_or(full_key(name), fallback)).value_or(fallback);
}

std::string_view KeyReader::string(std::string_view name, std::string_view fallback) {
  return take(file_.string_or(full_key(name), fallback)).value_or(fallback);
}

}  // namespace minfer::model
