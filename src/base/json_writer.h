// JsonWriter: writes one JSON document, key by key, without a tree in memory.
//
// Invariants: commas and quotes are the writer's business; strings are escaped and bytes that are
// no UTF-8 become U+FFFD, so the result is always valid JSON. Numbers that are not finite are null.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minfer {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view text);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& unsigned_integer(std::uint64_t value);
  /// The shortest text that reads back as the same number.
  JsonWriter& number(double value);
  JsonWriter& number(float value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void before_value();

  std::string text_;
  std::vector<bool> has_items_;  // one an open object or array
  bool after_key_ = false;
};

}  // namespace minfer
