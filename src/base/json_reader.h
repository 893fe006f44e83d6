// JsonValue and parse_json: one JSON document as a tree.
//
// Owns: nothing beyond the tree.
// Invariants: keys keep the order of the text; of equal keys the last value wins, at the place of
// the first. Numbers without fraction and exponent are integers where 64 bits hold them, the
// nearest double otherwise, and then as they were spelt, too. Nesting is bounded. Thread-safety:
// pure function, values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace minfer {

struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> data =
      nullptr;
  std::string spelling{};  // of a double, as the text has it

  [[nodiscard]] const Array* array() const { return std::get_if<Array>(&data); }
  [[nodiscard]] const Object* object() const { return std::get_if<Object>(&data); }
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&data); }
  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::nullptr_t>(data); }
  /// The value of a key of an object, or null.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
};

/// Deeper documents are refused.
inline constexpr int kMaxJsonDepth = 128;

/// The document in `text` (RFC 8259), which must be all of it. kInvalidArgument names line and
/// column. A lone surrogate escape becomes U+FFFD, a byte-order mark is skipped.
Result<JsonValue> parse_json(std::string_view text);

}  // namespace minfer
