#include "sampling/json_schema/shape.h"

#include <algorithm>

namespace minfer::sampling::schema {

void add_to(Goal& goal, const Literal& literal) {
  const bool* constant = std::get_if<bool>(&literal.schema->data);
  if (constant != nullptr && *constant != literal.negated) return;
  const auto* members = literal.schema->object();
  if (members != nullptr && members->empty() && !literal.negated) return;
  const auto place = std::lower_bound(goal.begin(), goal.end(), literal);
  if (place == goal.end() || *place != literal) goal.insert(place, literal);
}

const JsonValue* ObjectRule::declared(std::string_view key) const {
  if (index == nullptr) return nullptr;
  const auto place = index->find(key);
  return place != index->end() ? place->second : nullptr;
}

bool is_open(const Shape& object) {
  bool declared = false;
  bool written = false;
  for (const ObjectRule& rule : object.rules) {
    if (rule.additional && rule.patterns.empty() && fits_nothing(*rule.additional)) return false;
    written = written || rule.additional || !rule.patterns.empty();
    declared = declared || rule.properties != nullptr;
  }
  return written || !declared;
}

bool fits_nothing(const Literal& literal) {
  const bool* constant = std::get_if<bool>(&literal.schema->data);
  return constant != nullptr && *constant == literal.negated;
}

bool declares(const Shape& object, const std::string& key) {
  return std::any_of(object.rules.begin(), object.rules.end(),
                     [&](const ObjectRule& rule) { return rule.declared(key) != nullptr; });
}

std::vector<std::string> known_keys(const Shape& object) {
  std::vector<std::pair<Order, std::string>> keys;
  for (const ObjectRule& rule : object.rules) {
    if (rule.properties == nullptr) continue;
    std::uint32_t index = 0;
    for (const auto& [key, schema] : *rule.properties->object()) {
      Order order = rule.order;
      order.push_back(index++);
      // Declared keys come before those that are only required.
      order.insert(order.begin(), 0);
      keys.emplace_back(std::move(order), key);
    }
  }
  for (const auto& [key, where] : object.required) {
    Order order = where;
    order.insert(order.begin(), 1);
    keys.emplace_back(std::move(order), key);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (auto& [order, key] : keys) {
    if (seen.insert(key).second) out.push_back(std::move(key));
  }
  return out;
}

Goal value_goal(const Shape& object, const std::string& key) {
  Goal goal;
  for (const ObjectRule& rule : object.rules) {
    bool evaluated = false;
    if (const JsonValue* schema = rule.declared(key); schema != nullptr) {
      add_to(goal, {schema, false});
      evaluated = true;
    }
    for (const auto& [pattern, literal] : rule.patterns) {
      if (!pattern->accepts(key)) continue;
      add_to(goal, literal);
      evaluated = true;
    }
    if (!evaluated && rule.additional) add_to(goal, *rule.additional);
  }
  if (const auto more = object.also.find(key); more != object.also.end()) {
    for (const Literal& literal : more->second) add_to(goal, literal);
  }
  return goal;
}

Goal item_goal(const Shape& array, std::size_t index) {
  Goal goal;
  for (const ArrayRule& rule : array.items) {
    if (index < rule.prefix.size()) {
      add_to(goal, rule.prefix[index]);
    } else if (rule.rest) {
      add_to(goal, *rule.rest);
    }
  }
  return goal;
}

std::size_t prefix_length(const Shape& array) {
  std::size_t length = 0;
  for (const ArrayRule& rule : array.items) length = std::max(length, rule.prefix.size());
  return length;
}

const JsonValue& true_schema() {
  static const JsonValue kTrue{true};
  return kTrue;
}

}  // namespace minfer::sampling::schema
