// The keywords about numbers and strings, and enum and const.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/printable.h"
#include "sampling/json_schema/decimal.h"
#include "sampling/json_schema/expander.h"
#include "sampling/json_schema/formats.h"
#include "sampling/json_schema/numbers.h"

namespace minfer::sampling::schema {
namespace {

Dfa between(std::string_view first, std::string_view last) {
  const Dfa from = compared(*Decimal::parse(first), {false, true, true});
  const Dfa to = compared(*Decimal::parse(last), {true, true, false});
  return *intersect(*intersect(from, to), whole_numbers());
}

// Whole numbers of so many bits, as OpenAPI and others name them.
struct IntegerFormat {
  std::string_view name, first, last;
};
constexpr IntegerFormat kIntegerFormats[] = {
    {"int8", "-128", "127"},
    {"int16", "-32768", "32767"},
    {"int32", "-2147483648", "2147483647"},
    {"int64", "-9223372036854775808", "9223372036854775807"},
    {"uint8", "0", "255"},
    {"uint16", "0", "65535"},
    {"uint32", "0", "4294967295"},
    {"uint64", "0", "18446744073709551615"},
};

const IntegerFormat* integer_format(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kIntegerFormats), std::end(kIntegerFormats),
                                       [&](const IntegerFormat& f) { return f.name == name; });
  return row != std::end(kIntegerFormats) ? row : nullptr;
}

bool is_number(const JsonValue& value) {
  return std::holds_alternative<std::int64_t>(value.data) ||
         std::holds_alternative<double>(value.data);
}

}  // namespace

std::uint64_t count_of(const JsonValue& value) {
  const std::optional<Decimal> decimal = Decimal::of(value);
  MINFER_CHECK(decimal && decimal->count());
  return *decimal->count();
}

void lower(std::optional<std::uint64_t>& bound, std::uint64_t value) {
  bound = bound ? std::min(*bound, value) : value;
}

const JsonValue::Array& Expander::constant_list(const JsonValue& value) {
  JsonValue::Array& list = constants_[&value];
  if (list.empty()) list.push_back(value);
  return list;
}

std::shared_ptr<const Dfa> Expander::language_of(const JsonValue& schema,
                                                 const std::string& keyword, const JsonValue& value,
                                                 Type type) {
  // Less is written than these allow, which is no ground for a proof that nothing fits.
  if (literal_types_ && (keyword == "format" || keyword == "contentEncoding")) return nullptr;
  if (const auto known = languages_.find({&value, type}); known != languages_.end())
    return known->second;
  std::optional<Dfa> dfa = type == Type::kNumber ? number_language(schema, keyword, value)
                                                 : string_language(schema, keyword, value);
  if (!dfa) return nullptr;
  return languages_[{&value, type}] = std::make_shared<const Dfa>(*std::move(dfa));
}

std::optional<Dfa> Expander::number_language(const JsonValue& schema, const std::string& keyword,
                                             const JsonValue& value) {
  if (keyword == "minimum") return compared(*Decimal::of(value), {false, true, true});
  if (keyword == "maximum") return compared(*Decimal::of(value), {true, true, false});
  if (keyword == "exclusiveMinimum") return compared(*Decimal::of(value), {false, false, true});
  if (keyword == "exclusiveMaximum") return compared(*Decimal::of(value), {true, false, false});
  if (keyword == "multipleOf") {
    std::optional<Dfa> dfa = multiples(*Decimal::of(value));
    if (!dfa) refuse(schema, keyword, "\"multipleOf\" is not supported for this number");
    return dfa;
  }
  if (keyword != "format") return std::nullopt;
  if (const IntegerFormat* format = integer_format(*value.string()); format != nullptr)
    return between(format->first, format->last);
  return std::nullopt;
}

std::optional<Dfa> Expander::string_language(const JsonValue& schema, const std::string& keyword,
                                             const JsonValue& value) {
  if (keyword == "pattern") return document_.pattern(*value.string());
  if (keyword == "contentEncoding") {
    if (*value.string() == "base64") return base64_language();
    refuse(schema, keyword,
           fmt::format("the encoding \"{}\" is not supported", printable(*value.string())));
    return std::nullopt;
  }
  if (keyword != "format" || is_silent_format(*value.string())) return std::nullopt;
  if (integer_format(*value.string()) != nullptr) return std::nullopt;
  std::optional<Dfa> dfa = format_language(*value.string());
  if (!dfa) {
    refuse(schema, keyword,
           fmt::format("the format \"{}\" is not supported", printable(*value.string())));
  }
  return dfa;
}

void Expander::restrict(Branch& b, const JsonValue& schema, std::string_view keyword,
                        const Dfa& dfa) {
  if (b.shape.language == nullptr) {
    b.shape.language = std::make_shared<const Dfa>(dfa);
  } else {
    std::optional<Dfa> both = intersect(*b.shape.language, dfa);
    if (!both) {
      refuse(schema, keyword,
             "together with the other keywords this takes an automaton that is "
             "too big");
      return;
    }
    steps_ += both->states.size();
    b.shape.language = std::make_shared<const Dfa>(*std::move(both));
  }
  b.dead = b.dead || b.shape.language->empty();
}

void Expander::affirm_values(Branch& b, const JsonValue& schema, const JsonValue::Array& values,
                             const Order& order) {
  std::vector<std::string> words;
  bool can_be[2] = {false, false};
  bool null = false;
  Choice structures;
  for (const JsonValue& value : values) {
    if (value.is_null()) null = true;
    if (const bool* truth = std::get_if<bool>(&value.data)) can_be[*truth ? 1 : 0] = true;
    if (b.shape.type == Type::kString && value.string() != nullptr)
      words.push_back(*value.string());
    if (b.shape.type == Type::kNumber && is_number(value)) {
      const std::optional<Decimal> decimal = Decimal::of(value);
      if (!decimal) return refuse(schema, "", "a number of \"enum\" or \"const\" is too long");
      words.push_back(decimal->text());
    }
    const bool fits = b.shape.type == Type::kArray
                          ? value.array() != nullptr
                          : b.shape.type == Type::kObject && value.object() != nullptr;
    if (!fits) continue;
    structures.emplace_back([this, &value, &schema, order](Branch& c) {
      require(c, {&document_.structure_of(value, schema), false}, order, {});
    });
  }
  switch (b.shape.type) {
    case Type::kNull:
      b.dead = b.dead || !null;
      return;
    case Type::kBoolean:
      for (int i : {0, 1}) b.shape.can_be[i] = b.shape.can_be[i] && can_be[i];
      b.dead = b.dead || (!b.shape.can_be[0] && !b.shape.can_be[1]);
      return;
    case Type::kArray:
    case Type::kObject:
      add_choice(b, std::move(structures));
      return;
    default:
      break;
  }
  std::vector<std::string> kept;
  for (const std::string& word : words) {
    const bool in = !b.shape.words || std::find(b.shape.words->begin(), b.shape.words->end(),
                                                word) != b.shape.words->end();
    if (in && std::find(kept.begin(), kept.end(), word) == kept.end()) kept.push_back(word);
  }
  b.dead = b.dead || kept.empty();
  b.shape.words = std::move(kept);
}

void Expander::deny_values(Branch& b, const JsonValue& schema, const JsonValue::Array& values) {
  std::vector<std::string> words;
  for (const JsonValue& value : values) {
    switch (b.shape.type) {
      case Type::kNull:
        b.dead = b.dead || value.is_null();
        break;
      case Type::kBoolean:
        if (const bool* truth = std::get_if<bool>(&value.data))
          b.shape.can_be[*truth ? 1 : 0] = false;
        b.dead = b.dead || (!b.shape.can_be[0] && !b.shape.can_be[1]);
        break;
      case Type::kNumber:
        if (!is_number(value)) break;
        if (const std::optional<Decimal> decimal = Decimal::of(value); decimal) {
          restrict(b, schema, "", compared(*decimal, {true, false, true}));
        } else {
          refuse(schema, "", "a number of \"enum\" or \"const\" is too long");
        }
        break;
      case Type::kString:
        if (value.string() != nullptr) words.push_back(*value.string());
        break;
      case Type::kArray:
        if (value.array() != nullptr)
          require(b, {&document_.structure_of(value, schema), true}, {}, {});
        break;
      case Type::kObject:
        if (value.object() != nullptr)
          require(b, {&document_.structure_of(value, schema), true}, {}, {});
        break;
    }
  }
  if (!words.empty()) restrict(b, schema, "", Dfa::of_words(words).complement());
}

}  // namespace minfer::sampling::schema
