// Shape: what a schema says about the values of one type, with every choice made. A schema is a
// list of shapes for each type; a value fits the schema where it fits one of them.
//
// Thread-safety: values.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_reader.h"
#include "sampling/json_schema/dfa.h"

namespace minfer::sampling::schema {

enum class Type : std::uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };
inline constexpr int kTypes = 6;

/// A schema that a value must fit, or must not.
struct Literal {
  const JsonValue* schema = nullptr;
  bool negated = false;

  friend auto operator<=>(const Literal&, const Literal&) = default;
};

/// A value must satisfy all of them. Sorted, each once.
using Goal = std::vector<Literal>;

/// Where in the reading order of the schema something stands.
using Order = std::vector<std::uint32_t>;
/// The schemas with unevaluated* that a keyword is read within.
using Scopes = std::set<int>;

struct ArrayRule {
  std::vector<Literal> prefix;
  std::optional<Literal> rest;
  Scopes scopes;
};

/// From `min` to `max` of the items from index `from` on fit `what`.
struct CountedItems {
  std::size_t from = 0;
  Literal what;
  std::uint64_t min = 0;
  std::optional<std::uint64_t> max;
};

/// The schemas of a `properties`, by key.
using PropertyIndex = std::unordered_map<std::string_view, const JsonValue*>;

struct ObjectRule {
  Order order;
  const JsonValue* properties = nullptr;  // null where the keyword is not there
  std::shared_ptr<const PropertyIndex> index;
  std::vector<std::pair<const Dfa*, Literal>> patterns;
  std::optional<Literal> additional;
  Scopes scopes;

  /// The schema that `properties` has for a key, or null.
  [[nodiscard]] const JsonValue* declared(std::string_view key) const;
};

/// Some key that `patterns` or, where there are none, nothing in `rule` matches has a value that
/// fits `what`.
struct SomeKey {
  ObjectRule rule;
  const Dfa* pattern = nullptr;
  Literal what;
  const JsonValue* schema = nullptr;  // that says so, for messages
};

struct Unevaluated {
  int scope = 0;
  Literal what;
  const JsonValue* schema = nullptr;
};

struct Shape {
  Type type = Type::kNull;

  // Booleans.
  bool can_be[2] = {true, true};

  // Numbers and strings: nothing set means all of them. Words are spelt as values, not as JSON.
  std::shared_ptr<const Dfa> language;
  std::optional<std::vector<std::string>> words;
  bool integer = false;  // of type integer: spelt without a point
  std::uint64_t min_length = 0;
  std::optional<std::uint64_t> max_length;

  // Items of arrays, keys of objects.
  std::uint64_t min_count = 0;
  std::optional<std::uint64_t> max_count;

  std::vector<ArrayRule> items;
  std::vector<CountedItems> counted;
  std::vector<Unevaluated> unevaluated;
  const JsonValue* unique = nullptr;  // the schema with uniqueItems

  std::vector<ObjectRule> rules;
  std::map<std::string, Order> required;
  std::set<std::string> forbidden;
  std::map<std::string, Goal> also;      // what the values of keys must fit beside the rules
  std::set<std::string> only_by_denial;  // keys that must be there because of `not` alone
  std::vector<Literal> key_names;
  std::vector<SomeKey> some_keys;
  const JsonValue* counting = nullptr;  // the schema with minProperties or minItems
};

/// Adds a literal; one that every value satisfies is left out.
void add_to(Goal& goal, const Literal& literal);

/// Whether keys may be written that no `properties` declares: where additionalProperties,
/// patternProperties or unevaluatedProperties is written and not false, or no `properties` at all.
bool is_open(const Shape& object);
/// The keys that the rules declare or require, in the order in which they are written.
std::vector<std::string> known_keys(const Shape& object);
/// Whether some `properties` of the shape declares `key`.
bool declares(const Shape& object, const std::string& key);
/// What the value of `key` must fit.
Goal value_goal(const Shape& object, const std::string& key);
/// What item `index` must fit.
Goal item_goal(const Shape& array, std::size_t index);
/// The length of the longest prefix: from there on, items all have the same goal.
std::size_t prefix_length(const Shape& array);

/// Whether the literal is `false`, or not `true`.
bool fits_nothing(const Literal& literal);

/// The schema that everything fits.
const JsonValue& true_schema();

}  // namespace minfer::sampling::schema
