#include "sampling/json_schema/expander.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sampling/json_schema/numbers.h"

namespace minfer::sampling::schema {
namespace {

// How deep a proof that nothing fits looks into objects and arrays.
constexpr int kProofDepth = 3;

// Of so many schemas under anyOf, several may hold for one object, with the keys of them all.
constexpr std::size_t kMaxUnion = 4;

constexpr std::string_view kTypeNames[kTypes] = {"null",   "boolean", "number",
                                                 "string", "array",   "object"};

}  // namespace

Result<std::vector<Shape>> Expander::expand(const Goal& goal, Type type) {
  Branch first;
  first.shape.type = type;
  std::vector<Shape> out;
  std::uint32_t index = 0;
  for (const Literal& literal : goal) require(first, literal, {index++}, {});
  run(std::move(first), out);
  if (!status_.ok()) return std::exchange(status_, ok_status());
  return out;
}

void Expander::refuse(const JsonValue& schema, std::string_view keyword, std::string_view what) {
  if (status_.ok()) status_ = unsupported(document_.at(schema, keyword, what));
}

void Expander::too_complex() {
  refuse(document_.root(), "", "too complex: the combinations of its schemas are too many");
}

void Expander::run(Branch first, std::vector<Shape>& out) {
  std::vector<Branch> stack;
  stack.push_back(std::move(first));
  while (!stack.empty() && status_.ok()) {
    Branch b = std::move(stack.back());
    stack.pop_back();
    if (b.dead) continue;
    if (b.choices.empty()) {
      settle(b, out);
      if (out.size() > kMaxShapes) too_complex();
      continue;
    }
    // The choice with the fewest ways first: it decides the most.
    const auto least =
        std::min_element(b.choices.begin(), b.choices.end(),
                         [](const Choice& x, const Choice& y) { return x.size() < y.size(); });
    const Choice choice = std::move(*least);
    b.choices.erase(least);
    for (std::size_t i = choice.size(); i-- > 0 && status_.ok();) {
      Branch next = b;
      steps_ += b.seen.size() / 8;
      choice[i](next);
      if (!next.dead) stack.push_back(std::move(next));
    }
  }
}

void Expander::require(Branch& b, Literal literal, const Order& order, const Scopes& scopes) {
  if (b.dead || !status_.ok()) return;
  if (++steps_ > kMaxSteps) {
    too_complex();
    return;
  }
  // References that are alone lead on without a schema of their own.
  for (const auto* members = literal.schema->object();
       members != nullptr && members->size() == 1 && members->front().first == "$ref";
       members = literal.schema->object())
    literal.schema = &document_.target(*literal.schema);
  if (const bool* constant = std::get_if<bool>(&literal.schema->data); constant != nullptr) {
    if (*constant == literal.negated) b.dead = true;
    return;
  }
  if (!b.seen.emplace(literal, scopes).second) return;
  if (depth_ == kMaxInPlace || order.size() > kMaxInPlace) {
    refuse(*literal.schema, "", "schemas that apply to one value are nested too deeply");
    return;
  }
  ++depth_;
  if (literal.negated) {
    deny(b, *literal.schema);
  } else {
    affirm(b, *literal.schema, order, scopes);
  }
  --depth_;
}

namespace {

// What `type` says about the values of a type: all are in, none is, or whole numbers are.
enum class Within { kAll, kNone, kWhole };

Within within_type(const JsonValue& schema, Type type) {
  const JsonValue* value = schema.find("type");
  if (value == nullptr) return Within::kAll;
  bool integer = false;
  const auto is_in = [&](const JsonValue& name) {
    if (type == Type::kNumber && *name.string() == "integer") integer = true;
    return *name.string() == kTypeNames[static_cast<int>(type)];
  };
  const bool in = value->array() != nullptr
                      ? std::count_if(value->array()->begin(), value->array()->end(), is_in) > 0
                      : is_in(*value);
  return in ? Within::kAll : integer ? Within::kWhole : Within::kNone;
}

Type type_of(const JsonValue& value) {
  if (value.is_null()) return Type::kNull;
  if (std::holds_alternative<bool>(value.data)) return Type::kBoolean;
  if (value.string() != nullptr) return Type::kString;
  if (value.array() != nullptr) return Type::kArray;
  return value.object() != nullptr ? Type::kObject : Type::kNumber;
}

// Whether a glance tells that no value of `type` fits.
bool excludes(const JsonValue& schema, Type type) {
  if (schema.object() == nullptr) return false;
  if (within_type(schema, type) == Within::kNone) return true;
  if (const JsonValue* value = schema.find("const"); value != nullptr)
    return type_of(*value) != type;
  const JsonValue* values = schema.find("enum");
  return values != nullptr &&
         std::none_of(values->array()->begin(), values->array()->end(),
                      [&](const JsonValue& value) { return type_of(value) == type; });
}

}  // namespace

void Expander::affirm(Branch& b, const JsonValue& schema, const Order& order, Scopes scopes) {
  const Type type = b.shape.type;
  const Within within = within_type(schema, type);
  const bool implied = !literal_types_ && type != Type::kObject && schema.find("type") == nullptr &&
                       schema.find("properties") != nullptr;
  if (within == Within::kNone || implied) {
    b.dead = true;
    return;
  }
  if (within == Within::kWhole) {
    restrict(b, schema, "type", whole_numbers());
    b.shape.integer = true;
  }
  const char* unevaluated = type == Type::kArray    ? "unevaluatedItems"
                            : type == Type::kObject ? "unevaluatedProperties"
                                                    : nullptr;
  const JsonValue* rest = unevaluated != nullptr ? schema.find(unevaluated) : nullptr;
  if (rest != nullptr && !literal_types_) {
    const int scope = b.n_scopes++;
    scopes.insert(scope);
    b.shape.unevaluated.push_back({scope, {rest, false}, &schema});
  }
  if (type == Type::kObject) affirm_keys(b, schema, order, scopes);
  if (type == Type::kArray) affirm_items(b, schema, scopes);
  std::uint32_t index = 0;
  for (const auto& [keyword, value] : *schema.object()) {
    Order inner = order;
    inner.push_back(index++);
    affirm_keyword(b, schema, keyword, value, inner, scopes);
  }
}

void Expander::affirm_keyword(Branch& b, const JsonValue& schema, const std::string& keyword,
                              const JsonValue& value, const Order& order, const Scopes& scopes) {
  if (b.dead || !status_.ok()) return;
  const Type type = b.shape.type;
  if (keyword == "enum") {
    affirm_values(b, schema, *value.array(), order);
  } else if (keyword == "const") {
    affirm_values(b, schema, constant_list(value), order);
  } else if (type == Type::kString && keyword == "minLength") {
    b.shape.min_length = std::max(b.shape.min_length, count_of(value));
  } else if (type == Type::kString && keyword == "maxLength") {
    lower(b.shape.max_length, count_of(value));
  } else if (type == Type::kString || type == Type::kNumber) {
    if (const auto language = language_of(schema, keyword, value, type); language != nullptr) {
      restrict(b, schema, keyword, *language);
      if (type == Type::kNumber && keyword == "format") b.shape.integer = true;
    }
  }
  if (type == Type::kArray) affirm_array(b, schema, keyword, value);
  if (type == Type::kObject) affirm_object(b, schema, keyword, value, order, scopes);
  affirm_combination(b, schema, keyword, value, order, scopes);
}

void Expander::affirm_combination(Branch& b, const JsonValue& schema, const std::string& keyword,
                                  const JsonValue& value, const Order& order,
                                  const Scopes& scopes) {
  if (keyword == "$ref") {
    require(b, {&document_.target(schema), false}, order, scopes);
  } else if (keyword == "allOf") {
    std::uint32_t index = 0;
    for (const JsonValue& child : *value.array()) {
      Order inner = order;
      inner.push_back(index++);
      require(b, {&child, false}, inner, scopes);
    }
  } else if (keyword == "anyOf") {
    Choice choice;
    for (const JsonValue& child : *value.array()) {
      choice.emplace_back(
          [this, &child, order, scopes](Branch& c) { require(c, {&child, false}, order, scopes); });
    }
    if (b.shape.type == Type::kObject) add_unions(choice, *value.array(), order, scopes);
    add_choice(b, std::move(choice));
  } else if (keyword == "oneOf") {
    affirm_one_of(b, schema, value, order, scopes);
  } else if (keyword == "not") {
    require(b, {&value, true}, order, {});
  } else if (keyword == "if") {
    const JsonValue* yes = schema.find("then");
    const JsonValue* no = schema.find("else");
    if (yes == nullptr && no == nullptr) return;
    add_choice(b, {[this, &value, yes, order, scopes](Branch& c) {
                     require(c, {&value, false}, order, scopes);
                     if (yes != nullptr) require(c, {yes, false}, order, scopes);
                   },
                   [this, &value, no, order, scopes](Branch& c) {
                     require(c, {&value, true}, order, {});
                     if (no != nullptr) require(c, {no, false}, order, scopes);
                   }});
  }
}

void Expander::add_unions(Choice& choice, const JsonValue::Array& children, const Order& order,
                          const Scopes& scopes) {
  if (literal_types_ || children.size() > kMaxUnion) return;
  for (std::size_t set = 1; set < (std::size_t{1} << children.size()); ++set) {
    if (std::has_single_bit(set)) continue;
    choice.emplace_back([this, &children, set, order, scopes](Branch& c) {
      for (std::size_t i = 0; i < children.size(); ++i) {
        if ((set >> i & 1) != 0) require(c, {&children[i], false}, order, scopes);
      }
    });
  }
}

void Expander::affirm_one_of(Branch& b, const JsonValue& schema, const JsonValue& value,
                             const Order& order, const Scopes& scopes) {
  const auto& children = *value.array();
  std::vector<std::size_t> possible;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!excludes(children[i], b.shape.type)) possible.push_back(i);
  }
  Choice choice;
  for (const std::size_t i : possible) {
    std::vector<std::size_t> others;
    for (const std::size_t j : possible) {
      if (steps_ > kMaxSteps) return too_complex();
      // A proof that nothing fits may take more values for right: then oneOf is as anyOf.
      if (j != i && !literal_types_ && !disjoint(children[i], children[j], b.shape.type))
        others.push_back(j);
    }
    choice.emplace_back([this, &schema, &children, i, others, order, scopes](Branch& c) {
      require(c, {&children[i], false}, order, scopes);
      for (const std::size_t j : others) {
        require(c, {&children[j], true}, order, {});
        if (status_.ok()) continue;
        status_ = status_.with_context(
            document_.at(schema, "oneOf",
                         fmt::format("schemas {} and {} may both hold, and the second cannot "
                                     "be ruled out",
                                     i, j)));
        return;
      }
    });
  }
  add_choice(b, std::move(choice));
}

void Expander::add_choice(Branch& b, Choice choice) {
  if (choice.empty()) {
    b.dead = true;
  } else if (choice.size() == 1) {
    choice[0](b);
  } else {
    b.choices.push_back(std::move(choice));
  }
}

void Expander::deny(Branch& b, const JsonValue& schema) {
  const Type type = b.shape.type;
  const Within within = within_type(schema, type);
  if (within == Within::kNone) return;
  Choice choice;
  if (within == Within::kWhole) {
    choice.emplace_back(
        [this, &schema](Branch& c) { restrict(c, schema, "type", whole_numbers().complement()); });
  }
  if (type == Type::kObject) deny_keys(choice, schema);
  if (type == Type::kArray) deny_items(choice, schema);
  for (const auto& [keyword, value] : *schema.object()) {
    deny_keyword(choice, schema, keyword, value, type);
    if (type == Type::kArray) deny_array(choice, schema, keyword, value);
    if (type == Type::kObject) deny_object(choice, schema, keyword, value);
    deny_combination(choice, schema, keyword, value);
  }
  add_choice(b, std::move(choice));
}

void Expander::deny_keyword(Choice& choice, const JsonValue& schema, const std::string& keyword,
                            const JsonValue& value, Type type) {
  if (keyword == "enum" || keyword == "const") {
    const JsonValue::Array& values = keyword == "enum" ? *value.array() : constant_list(value);
    choice.emplace_back([this, &schema, &values](Branch& c) { deny_values(c, schema, values); });
  } else if (type == Type::kString && keyword == "minLength") {
    if (const std::uint64_t n = count_of(value); n > 0)
      choice.emplace_back([n](Branch& c) { lower(c.shape.max_length, n - 1); });
  } else if (type == Type::kString && keyword == "maxLength") {
    choice.emplace_back([n = count_of(value)](Branch& c) {
      c.shape.min_length = std::max(c.shape.min_length, n + 1);
    });
  } else if (type == Type::kString || type == Type::kNumber) {
    const auto language = language_of(schema, keyword, value, type);
    if (language == nullptr) return;
    if (keyword == "format" || keyword == "contentEncoding") {
      // What is written is less than what the format allows, so its complement would be too much.
      refuse(schema, keyword, fmt::format("\"{}\" cannot be denied", keyword));
      return;
    }
    choice.emplace_back([this, &schema, keyword, language](Branch& c) {
      restrict(c, schema, keyword, language->complement());
    });
  }
}

void Expander::deny_combination(Choice& choice, const JsonValue& schema, const std::string& keyword,
                                const JsonValue& value) {
  if (keyword == "$ref") {
    choice.emplace_back(
        [this, &schema](Branch& c) { require(c, {&document_.target(schema), true}, {}, {}); });
  } else if (keyword == "allOf") {
    for (const JsonValue& child : *value.array())
      choice.emplace_back([this, &child](Branch& c) { require(c, {&child, true}, {}, {}); });
  } else if (keyword == "anyOf" || keyword == "oneOf") {
    const auto& children = *value.array();
    choice.emplace_back([this, &children](Branch& c) {
      for (const JsonValue& child : children) require(c, {&child, true}, {}, {});
    });
    for (std::size_t i = 0; keyword == "oneOf" && i < children.size(); ++i) {
      for (std::size_t j = i + 1; j < children.size(); ++j) {
        choice.emplace_back([this, &children, i, j](Branch& c) {
          require(c, {&children[i], false}, {}, {});
          require(c, {&children[j], false}, {}, {});
        });
      }
    }
  } else if (keyword == "not") {
    choice.emplace_back([this, &value](Branch& c) { require(c, {&value, false}, {}, {}); });
  } else if (keyword == "if") {
    const auto add = [&](const char* name, bool negated) {
      const JsonValue* then = schema.find(name);
      if (then == nullptr) return;
      choice.emplace_back([this, &value, then, negated](Branch& c) {
        require(c, {&value, negated}, {}, {});
        require(c, {then, true}, {}, {});
      });
    };
    add("then", false);
    add("else", true);
  }
}

bool Expander::disjoint(const JsonValue& a, const JsonValue& b, Type type) {
  const auto key = std::make_tuple(std::min(&a, &b), std::max(&a, &b), type);
  if (const auto known = disjoint_.find(key); known != disjoint_.end()) return known->second;
  literal_types_ = true;
  Goal goal;
  add_to(goal, {&a, false});
  add_to(goal, {&b, false});
  const bool out = hopeless(goal, type, kProofDepth);
  literal_types_ = false;
  return disjoint_[key] = out;
}

bool Expander::hopeless(const Goal& goal, Type type, int depth) {
  for (const Literal& literal : goal) {
    if (!literal.negated && excludes(*literal.schema, type)) return true;
  }
  if (steps_ > kMaxSteps) return false;
  const Result<std::vector<Shape>> shapes = expand(goal, type);
  // What cannot be told apart is not told apart.
  if (!shapes.ok()) return false;
  return std::all_of(shapes->begin(), shapes->end(),
                     [&](const Shape& shape) { return hopeless(shape, depth); });
}

bool Expander::hopeless(const Shape& shape, int depth) {
  if (shape.type == Type::kBoolean) return !shape.can_be[0] && !shape.can_be[1];
  if (shape.max_count && *shape.max_count < shape.min_count) return true;
  if (shape.max_length && *shape.max_length < shape.min_length) return true;
  if (shape.words) {
    return std::none_of(shape.words->begin(), shape.words->end(), [&](const std::string& word) {
      return shape.language == nullptr || shape.language->accepts(word);
    });
  }
  if (shape.language != nullptr && shape.language->empty()) return true;
  if (depth == 0) return false;
  const auto nothing_fits = [&](const Goal& goal) {
    for (int t = 0; t < kTypes; ++t) {
      if (!hopeless(goal, static_cast<Type>(t), depth - 1)) return false;
    }
    return true;
  };
  if (shape.type == Type::kObject) {
    return std::any_of(shape.required.begin(), shape.required.end(),
                       [&](const auto& key) { return nothing_fits(value_goal(shape, key.first)); });
  }
  if (shape.type == Type::kArray) {
    const std::size_t n = std::min<std::uint64_t>(shape.min_count, prefix_length(shape) + 1);
    for (std::size_t i = 0; i < n; ++i) {
      if (nothing_fits(item_goal(shape, i))) return true;
    }
  }
  return false;
}

}  // namespace minfer::sampling::schema
