// The keywords about arrays and objects, and what is left to do once every choice is made.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sampling/json_schema/expander.h"

namespace minfer::sampling::schema {
namespace {

bool is_true(const Literal& literal) {
  Goal goal;
  add_to(goal, literal);
  return goal.empty();
}

Literal anything() { return {&true_schema(), false}; }

ArrayRule items_of(const JsonValue& schema) {
  ArrayRule out;
  const JsonValue* items = schema.find("items");
  const JsonValue* prefix = schema.find("prefixItems");
  const JsonValue* rest = items;
  if (prefix == nullptr && items != nullptr && items->array() != nullptr) {
    prefix = items;
    rest = schema.find("additionalItems");
  }
  if (prefix != nullptr) {
    for (const JsonValue& item : *prefix->array()) out.prefix.push_back({&item, false});
  }
  if (rest != nullptr) out.rest = Literal{rest, false};
  return out;
}

CountedItems contains_of(const JsonValue& schema, const JsonValue& value) {
  CountedItems out;
  out.what = {&value, false};
  const JsonValue* min = schema.find("minContains");
  const JsonValue* max = schema.find("maxContains");
  out.min = min != nullptr ? count_of(*min) : 1;
  if (max != nullptr) out.max = count_of(*max);
  return out;
}

void require_key(Shape& shape, const std::string& key, const Order& order) {
  const auto [place, fresh] = shape.required.emplace(key, order);
  if (!fresh) place->second = std::min(place->second, order);
  shape.only_by_denial.erase(key);
}

// A denial needs `key` to be there.
void need_key(Shape& shape, const std::string& key) {
  if (shape.required.emplace(key, Order{}).second) shape.only_by_denial.insert(key);
}

bool contradicts(const Shape& shape) {
  return std::any_of(shape.forbidden.begin(), shape.forbidden.end(),
                     [&](const std::string& key) { return shape.required.contains(key); });
}

}  // namespace

void Expander::affirm_items(Branch& b, const JsonValue& schema, const Scopes& scopes) {
  ArrayRule rule = items_of(schema);
  rule.scopes = scopes;
  if (!rule.prefix.empty() || rule.rest) b.shape.items.push_back(std::move(rule));
}

void Expander::affirm_array(Branch& b, const JsonValue& schema, const std::string& keyword,
                            const JsonValue& value) {
  Shape& shape = b.shape;
  if (keyword == "minItems") {
    shape.min_count = std::max(shape.min_count, count_of(value));
    shape.counting = &schema;
  } else if (keyword == "maxItems") {
    lower(shape.max_count, count_of(value));
  } else if (keyword == "contains") {
    CountedItems counted = contains_of(schema, value);
    if (counted.min > 0 || counted.max) shape.counted.push_back(counted);
  } else if (keyword == "uniqueItems" && std::get<bool>(value.data)) {
    shape.unique = &schema;
  }
}

void Expander::deny_items(Choice& choice, const JsonValue& schema) {
  const ArrayRule rule = items_of(schema);
  for (std::size_t i = 0; i < rule.prefix.size(); ++i) {
    if (is_true(rule.prefix[i])) continue;
    choice.emplace_back([i, what = rule.prefix[i]](Branch& c) {
      ArrayRule wrong;
      wrong.prefix.assign(i, anything());
      wrong.prefix.push_back({what.schema, true});
      c.shape.items.push_back(std::move(wrong));
      c.shape.min_count = std::max<std::uint64_t>(c.shape.min_count, i + 1);
    });
  }
  if (rule.rest && !is_true(*rule.rest)) {
    choice.emplace_back([from = rule.prefix.size(), what = rule.rest->schema](Branch& c) {
      c.shape.counted.push_back({from, {what, true}, 1, std::nullopt});
    });
  }
}

void Expander::deny_array(Choice& choice, const JsonValue& schema, const std::string& keyword,
                          const JsonValue& value) {
  if (keyword == "minItems") {
    if (const std::uint64_t n = count_of(value); n > 0)
      choice.emplace_back([n](Branch& c) { lower(c.shape.max_count, n - 1); });
  } else if (keyword == "maxItems") {
    choice.emplace_back([n = count_of(value)](Branch& c) {
      c.shape.min_count = std::max(c.shape.min_count, n + 1);
    });
  } else if (keyword == "contains") {
    const CountedItems counted = contains_of(schema, value);
    if (counted.min > 0) {
      choice.emplace_back([counted](Branch& c) {
        c.shape.counted.push_back({0, counted.what, 0, counted.min - 1});
      });
    }
    if (counted.max) {
      choice.emplace_back([counted](Branch& c) {
        c.shape.counted.push_back({0, counted.what, *counted.max + 1, std::nullopt});
      });
    }
  } else if ((keyword == "uniqueItems" && std::get<bool>(value.data)) ||
             keyword == "unevaluatedItems") {
    refuse(schema, keyword, fmt::format("\"{}\" cannot be denied", keyword));
  }
}

std::shared_ptr<const PropertyIndex> Expander::index_of(const JsonValue* properties) {
  if (properties == nullptr) return nullptr;
  std::shared_ptr<const PropertyIndex>& known = indexes_[properties];
  if (known == nullptr) {
    PropertyIndex index;
    for (const auto& [key, value] : *properties->object()) index.emplace(key, &value);
    known = std::make_shared<const PropertyIndex>(std::move(index));
  }
  return known;
}

ObjectRule Expander::rule_of(const JsonValue& schema) {
  ObjectRule rule;
  rule.properties = schema.find("properties");
  rule.index = index_of(rule.properties);
  if (const JsonValue* patterns = schema.find("patternProperties"); patterns != nullptr) {
    for (const auto& [pattern, value] : *patterns->object())
      rule.patterns.push_back({&document_.pattern(pattern), {&value, false}});
  }
  if (const JsonValue* rest = schema.find("additionalProperties"); rest != nullptr)
    rule.additional = Literal{rest, false};
  return rule;
}

void Expander::affirm_keys(Branch& b, const JsonValue& schema, const Order& order,
                           const Scopes& scopes) {
  ObjectRule rule = rule_of(schema);
  if (rule.properties == nullptr && rule.patterns.empty() && !rule.additional) return;
  rule.order = order;
  std::uint32_t index = 0;
  for (const auto& [keyword, value] : *schema.object()) {
    if (keyword == "properties") rule.order.push_back(index);
    ++index;
  }
  rule.scopes = scopes;
  b.shape.rules.push_back(std::move(rule));
}

void Expander::affirm_object(Branch& b, const JsonValue& schema, const std::string& keyword,
                             const JsonValue& value, const Order& order, const Scopes& scopes) {
  Shape& shape = b.shape;
  if (keyword == "required") {
    Order inner = order;
    inner.push_back(0);
    for (const JsonValue& key : *value.array()) {
      require_key(shape, *key.string(), inner);
      ++inner.back();
    }
  } else if (keyword == "minProperties") {
    shape.min_count = std::max(shape.min_count, count_of(value));
    shape.counting = &schema;
  } else if (keyword == "maxProperties") {
    lower(shape.max_count, count_of(value));
  } else if (keyword == "propertyNames") {
    shape.key_names.push_back({&value, false});
  } else if (keyword == "dependencies" || keyword == "dependentRequired" ||
             keyword == "dependentSchemas") {
    Order inner = order;
    inner.push_back(0);
    for (const auto& [key, child] : *value.object()) {
      affirm_dependency(b, key, child, inner, scopes);
      ++inner.back();
    }
  }
  b.dead = b.dead || contradicts(shape);
}

void Expander::affirm_dependency(Branch& b, const std::string& key, const JsonValue& value,
                                 const Order& order, const Scopes& scopes) {
  const auto* names = value.array();
  if (names != nullptr ? names->empty() : is_true({&value, false})) return;
  add_choice(b, {[key](Branch& c) {
                   c.shape.forbidden.insert(key);
                   c.dead = c.dead || contradicts(c.shape);
                 },
                 [this, key, &value, names, order, scopes](Branch& c) {
                   Order inner = order;
                   inner.push_back(0);
                   require_key(c.shape, key, inner);
                   if (names == nullptr) {
                     require(c, {&value, false}, inner, scopes);
                   } else {
                     for (const JsonValue& name : *names) {
                       ++inner.back();
                       require_key(c.shape, *name.string(), inner);
                     }
                   }
                   c.dead = c.dead || contradicts(c.shape);
                 }});
}

void Expander::deny_keys(Choice& choice, const JsonValue& schema) {
  const ObjectRule rule = rule_of(schema);
  if (rule.properties != nullptr) {
    for (const auto& [key, value] : *rule.properties->object()) {
      if (is_true({&value, false})) continue;
      choice.emplace_back([name = key, &value](Branch& c) {
        need_key(c.shape, name);
        add_to(c.shape.also[name], {&value, true});
        c.dead = c.dead || contradicts(c.shape);
      });
    }
  }
  for (const auto& [pattern, literal] : rule.patterns) {
    if (is_true(literal)) continue;
    choice.emplace_back([rule, pattern, literal, &schema](Branch& c) {
      c.shape.some_keys.push_back({rule, pattern, {literal.schema, true}, &schema});
    });
  }
  if (rule.additional && !is_true(*rule.additional)) {
    choice.emplace_back([rule, &schema](Branch& c) {
      c.shape.some_keys.push_back({rule, nullptr, {rule.additional->schema, true}, &schema});
    });
  }
}

void Expander::deny_object(Choice& choice, const JsonValue& schema, const std::string& keyword,
                           const JsonValue& value) {
  if (keyword == "required") {
    for (const JsonValue& key : *value.array()) {
      choice.emplace_back([&key](Branch& c) {
        c.shape.forbidden.insert(*key.string());
        c.dead = c.dead || contradicts(c.shape);
      });
    }
  } else if (keyword == "minProperties") {
    if (const std::uint64_t n = count_of(value); n > 0)
      choice.emplace_back([n](Branch& c) { lower(c.shape.max_count, n - 1); });
  } else if (keyword == "maxProperties") {
    choice.emplace_back([n = count_of(value), &schema](Branch& c) {
      c.shape.min_count = std::max(c.shape.min_count, n + 1);
      c.shape.counting = &schema;
    });
  } else if (keyword == "propertyNames" || keyword == "unevaluatedProperties") {
    refuse(schema, keyword, fmt::format("\"{}\" cannot be denied", keyword));
  } else if (keyword == "dependencies" || keyword == "dependentRequired" ||
             keyword == "dependentSchemas") {
    for (const auto& member : *value.object()) {
      const std::string& key = member.first;
      const JsonValue& child = member.second;
      if (const auto* names = child.array(); names != nullptr) {
        for (const JsonValue& name : *names) {
          choice.emplace_back([&key, &name](Branch& c) {
            need_key(c.shape, key);
            c.shape.forbidden.insert(*name.string());
            c.dead = c.dead || contradicts(c.shape);
          });
        }
      } else {
        choice.emplace_back([this, &key, &child](Branch& c) {
          need_key(c.shape, key);
          c.dead = c.dead || contradicts(c.shape);
          require(c, {&child, true}, {}, {});
        });
      }
    }
  }
}

const JsonValue& Expander::keep(JsonValue value) {
  kept_.push_back(std::move(value));
  return kept_.back();
}

void Expander::settle_unevaluated(Shape& shape) {
  for (const Unevaluated& u : shape.unevaluated) {
    if (shape.type == Type::kArray) {
      ArrayRule rest;
      bool all = false;
      for (const ArrayRule& rule : shape.items) {
        if (!rule.scopes.contains(u.scope)) continue;
        all = all || rule.rest.has_value();
        if (rule.prefix.size() > rest.prefix.size())
          rest.prefix.assign(rule.prefix.size(), anything());
      }
      if (!shape.counted.empty())
        refuse(*u.schema, "unevaluatedItems",
               "\"unevaluatedItems\" beside \"contains\" is not supported");
      rest.rest = u.what;
      if (!all) shape.items.push_back(std::move(rest));
      continue;
    }
    // One rule whose own keys and patterns are all that were looked at.
    ObjectRule rest;
    bool all = false;
    JsonValue::Object seen;
    for (const ObjectRule& rule : shape.rules) {
      if (!rule.scopes.contains(u.scope)) continue;
      all = all || rule.additional.has_value();
      for (const auto& [pattern, literal] : rule.patterns)
        rest.patterns.push_back({pattern, anything()});
      if (rule.properties == nullptr) continue;
      for (const auto& [key, value] : *rule.properties->object())
        seen.emplace_back(key, true_schema());
    }
    if (all) continue;
    rest.properties = &keep(JsonValue{std::move(seen)});
    rest.index = index_of(rest.properties);
    // What was looked at is declared already, and in its own order.
    rest.order = {std::numeric_limits<std::uint32_t>::max()};
    rest.additional = u.what;
    shape.rules.push_back(std::move(rest));
  }
  shape.unevaluated.clear();
}

void Expander::settle(Branch& b, std::vector<Shape>& out) {
  settle_unevaluated(b.shape);
  if (!b.shape.some_keys.empty()) {
    settle_some_key(b, out);
    return;
  }
  if (b.shape.type == Type::kObject && !is_open(b.shape)) {
    // A key that nothing declares is not written for the sake of breaking a rule.
    for (const std::string& key : b.shape.only_by_denial) {
      if (!declares(b.shape, key)) return;
    }
  }
  out.push_back(std::move(b.shape));
}

void Expander::settle_some_key(Branch& b, std::vector<Shape>& out) {
  const SomeKey some = std::move(b.shape.some_keys.back());
  b.shape.some_keys.pop_back();
  if (is_open(b.shape)) {
    refuse(*some.schema, some.pattern != nullptr ? "patternProperties" : "additionalProperties",
           "cannot be denied where keys are open");
    return;
  }
  const ObjectRule& rule = some.rule;
  for (const std::string& key : known_keys(b.shape)) {
    if (b.shape.forbidden.contains(key)) continue;
    bool concerns = some.pattern != nullptr && some.pattern->accepts(key);
    if (some.pattern == nullptr) {
      concerns = rule.declared(key) == nullptr;
      for (const auto& [pattern, literal] : rule.patterns)
        concerns = concerns && !pattern->accepts(key);
    }
    if (!concerns) continue;
    if (++steps_ > kMaxSteps) {
      too_complex();
      return;
    }
    Branch next = b;
    need_key(next.shape, key);
    add_to(next.shape.also[key], some.what);
    settle(next, out);
  }
}

}  // namespace minfer::sampling::schema
