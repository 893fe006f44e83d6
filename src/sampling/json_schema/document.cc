#include "sampling/json_schema/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.h"
#include "sampling/json_schema/decimal.h"
#include "sampling/json_schema/regex.h"

namespace minfer::sampling::schema {
namespace {

enum class Shape {
  kAny,
  kAnnotation,
  kBoolean,
  kCount,
  kDependencies,
  kId,
  kItems,
  kList,
  kNumber,
  kPattern,
  kPatternMap,
  kRefused,
  kSchema,
  kSchemaMap,
  kSchemas,
  kString,
  kStrings,
  kStringsMap,
  kType,
};

const std::unordered_map<std::string_view, Shape>& keywords() {
  static const std::unordered_map<std::string_view, Shape> kKeywords = {
#define KEYWORD(name, shape) {name, Shape::shape},
#include "sampling/json_schema/keywords.def"
#undef KEYWORD
  };
  return kKeywords;
}

bool all_strings(const JsonValue& value) {
  const auto* items = value.array();
  return items != nullptr && std::all_of(items->begin(), items->end(),
                                         [](const JsonValue& v) { return v.string() != nullptr; });
}

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

// One step of a JSON pointer (RFC 6901) as it stands in a URI's fragment.
std::string unescaped(std::string_view step) {
  std::string bytes;
  for (std::size_t i = 0; i < step.size(); ++i) {
    int code = 0;
    if (step[i] == '%' && i + 2 < step.size() &&
        std::from_chars(step.data() + i + 1, step.data() + i + 3, code, 16).ptr ==
            step.data() + i + 3) {
      bytes += static_cast<char>(code);
      i += 2;
    } else {
      bytes += step[i];
    }
  }
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool tilde = bytes[i] == '~' && i + 1 < bytes.size();
    if (tilde && (bytes[i + 1] == '0' || bytes[i + 1] == '1')) {
      out += bytes[++i] == '0' ? '~' : '/';
    } else {
      out += bytes[i];
    }
  }
  return out;
}

const JsonValue* step_into(const JsonValue& value, const std::string& step) {
  if (const auto* items = value.array(); items != nullptr) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    const bool whole = error == std::errc() && end == step.data() + step.size();
    return whole && index < items->size() ? &(*items)[index] : nullptr;
  }
  return value.find(step);
}

std::string_view fragment_of(std::string_view uri) {
  const std::size_t hash = uri.find('#');
  return hash == std::string_view::npos ? std::string_view() : uri.substr(hash + 1);
}

// The pointer in a fragment as this file writes pointers.
std::string normalised(std::string_view fragment) {
  std::string out = "#";
  while (fragment.starts_with('/')) {
    fragment.remove_prefix(1);
    const std::size_t end = std::min(fragment.find('/'), fragment.size());
    out += "/" + escaped(unescaped(fragment.substr(0, end)));
    fragment.remove_prefix(end);
  }
  return out;
}

}  // namespace

Result<Document> Document::open(const JsonValue& root) {
  Document out;
  out.root_ = &root;
  out.find_references(root);
  out.todo_.push_back({&root, "#"});
  MINFER_RETURN_IF_ERROR(out.check_all());
  // A target that is no place for a schema may hold references of its own.
  while (!out.references_.empty()) {
    const Place place = out.references_.back();
    out.references_.pop_back();
    MINFER_RETURN_IF_ERROR(out.resolve(place, *place.schema->find("$ref")->string()));
    MINFER_RETURN_IF_ERROR(out.check_all());
  }
  MINFER_RETURN_IF_ERROR(out.check_loops());
  return out;
}

std::string_view Document::pointer(const JsonValue& schema) const {
  const auto place = pointers_.find(&schema);
  return place != pointers_.end() ? std::string_view(place->second) : "#";
}

std::string Document::at(const JsonValue& schema, std::string_view keyword,
                         std::string_view what) const {
  std::string place(pointer(schema));
  if (!keyword.empty()) place += "/" + escaped(keyword);
  return fmt::format("JSON schema, {}: {}", printable(place), what);
}

void Document::find_references(const JsonValue& value) {
  if (const auto* items = value.array(); items != nullptr) {
    for (const JsonValue& item : *items) find_references(item);
  }
  const auto* members = value.object();
  if (members == nullptr) return;
  for (const auto& [key, member] : *members) {
    if (key == "$ref" && member.string() != nullptr)
      references_to_.push_back(normalised(fragment_of(*member.string())));
    find_references(member);
  }
}

Status Document::check_all() {
  while (!todo_.empty()) {
    const Place place = std::move(todo_.back());
    todo_.pop_back();
    if (!pointers_.emplace(place.schema, place.pointer).second) continue;
    places_.emplace(place.pointer, place.schema);
    MINFER_RETURN_IF_ERROR(check_schema(place));
  }
  return ok_status();
}

Status Document::check_schema(const Place& place) {
  const auto* members = place.schema->object();
  if (members == nullptr) {
    if (std::holds_alternative<bool>(place.schema->data)) return ok_status();
    return invalid_argument(fmt::format(
        "JSON schema, {}: a schema must be an object, true or false", printable(place.pointer)));
  }
  for (const auto& [keyword, value] : *members)
    MINFER_RETURN_IF_ERROR(check_keyword(place, keyword, value));
  return ok_status();
}

Status Document::check_keyword(const Place& place, const std::string& keyword,
                               const JsonValue& value) {
  const auto wrong = [&](std::string_view what) {
    return invalid_argument(at(*place.schema, keyword, what));
  };
  const auto push = [&](const JsonValue& schema, const std::string& steps) {
    todo_.push_back({&schema, place.pointer + "/" + escaped(keyword) + steps});
  };
  const auto push_all = [&](const auto& children) {
    if constexpr (std::is_same_v<std::decay_t<decltype(children)>, JsonValue::Array>) {
      for (std::size_t i = 0; i < children.size(); ++i) push(children[i], fmt::format("/{}", i));
    } else {
      for (const auto& [key, child] : children) push(child, "/" + escaped(key));
    }
  };
  const auto row = keywords().find(keyword);
  if (row == keywords().end()) {
    if (keyword.starts_with("x-")) return ok_status();
    // A place that references lead into is a container of definitions under a name of its own.
    const std::string inside = place.pointer + "/" + escaped(keyword);
    const bool referred =
        std::any_of(references_to_.begin(), references_to_.end(), [&](const std::string& pointer) {
          return pointer == inside || pointer.starts_with(inside + "/");
        });
    if (referred) return ok_status();
    return unsupported(
        at(*place.schema, keyword, fmt::format("unknown keyword \"{}\"", printable(keyword))));
  }
  const auto* items = value.array();
  const auto* members = value.object();
  switch (row->second) {
    case Shape::kAny:
    case Shape::kAnnotation:
      return ok_status();
    case Shape::kRefused:
      return unsupported(
          at(*place.schema, keyword, fmt::format("the keyword \"{}\" is not supported", keyword)));
    case Shape::kBoolean:
      if (!std::holds_alternative<bool>(value.data)) return wrong("must be true or false");
      return ok_status();
    case Shape::kCount:
    case Shape::kNumber:
      return check_counts(place, keyword, value);
    case Shape::kString:
      if (value.string() == nullptr) return wrong("must be a string");
      if (keyword == "$ref") references_.push_back(place);
      if (keyword == "$anchor" || keyword == "$dynamicAnchor")
        anchors_.emplace(*value.string(), place.schema);
      return ok_status();
    case Shape::kId:
      return check_id(place, value);
    case Shape::kPattern:
    case Shape::kPatternMap:
      MINFER_RETURN_IF_ERROR(add_patterns(place, keyword, value));
      if (members != nullptr) push_all(*members);
      return ok_status();
    case Shape::kList:
      if (items == nullptr) return wrong("must be an array");
      return ok_status();
    case Shape::kStrings:
      if (!all_strings(value)) return wrong("must be an array of strings");
      return ok_status();
    case Shape::kStringsMap:
      if (members == nullptr) return wrong("must be an object");
      for (const auto& [key, names] : *members) {
        if (!all_strings(names)) return wrong("must hold arrays of strings");
      }
      return ok_status();
    case Shape::kType:
      return check_type(place, value);
    case Shape::kItems:
      if (items == nullptr) return push(value, ""), ok_status();
      return push_all(*items), ok_status();
    case Shape::kSchema:
      return push(value, ""), ok_status();
    case Shape::kSchemas:
      if (items == nullptr || items->empty()) return wrong("must be an array of schemas");
      return push_all(*items), ok_status();
    case Shape::kSchemaMap:
      if (members == nullptr) return wrong("must be an object of schemas");
      return push_all(*members), ok_status();
    case Shape::kDependencies:
      if (members == nullptr) return wrong("must be an object");
      for (const auto& [key, child] : *members) {
        if (!all_strings(child)) push(child, "/" + escaped(key));
      }
      return ok_status();
  }
  return ok_status();
}

Status Document::check_counts(const Place& place, const std::string& keyword,
                              const JsonValue& value) {
  const bool number = std::holds_alternative<std::int64_t>(value.data) ||
                      std::holds_alternative<double>(value.data);
  if (!number) return invalid_argument(at(*place.schema, keyword, "must be a number"));
  const std::optional<Decimal> decimal = Decimal::of(value);
  if (!decimal) {
    return unsupported(
        at(*place.schema, keyword, fmt::format("more than {} digits", kMaxDecimalDigits)));
  }
  if (keywords().find(keyword)->second == Shape::kCount && !decimal->count())
    return invalid_argument(at(*place.schema, keyword, "must be a whole number from 0"));
  if (keyword == "multipleOf" && (decimal->negative || decimal->is_zero()))
    return invalid_argument(at(*place.schema, keyword, "must be above 0"));
  return ok_status();
}

Status Document::check_type(const Place& place, const JsonValue& value) {
  static constexpr std::array<std::string_view, 7> kTypes = {
      "null", "boolean", "integer", "number", "string", "array", "object"};
  const auto check = [&](const JsonValue& name) {
    const std::string* text = name.string();
    if (text != nullptr && std::find(kTypes.begin(), kTypes.end(), *text) != kTypes.end())
      return ok_status();
    return invalid_argument(at(*place.schema, "type",
                               "must be null, boolean, integer, number, string, array, object or "
                               "an array of them"));
  };
  if (value.array() == nullptr) return check(value);
  for (const JsonValue& name : *value.array()) MINFER_RETURN_IF_ERROR(check(name));
  return ok_status();
}

Status Document::add_patterns(const Place& place, const std::string& keyword,
                              const JsonValue& value) {
  if (keyword == "pattern") {
    if (value.string() == nullptr)
      return invalid_argument(at(*place.schema, keyword, "must be a string"));
    return add_pattern(place, keyword, *value.string());
  }
  if (value.object() == nullptr)
    return invalid_argument(at(*place.schema, keyword, "must be an object of schemas"));
  for (const auto& [text, schema] : *value.object())
    MINFER_RETURN_IF_ERROR(add_pattern(place, keyword, text));
  return ok_status();
}

Status Document::add_pattern(const Place& place, const std::string& keyword,
                             const std::string& text) {
  if (patterns_.contains(text)) return ok_status();
  Result<Dfa> dfa = regex_to_dfa(text, pattern_budget_);
  if (!dfa.ok())
    return dfa.status().with_context(
        at(*place.schema, keyword, fmt::format("pattern \"{}\"", printable(text))));
  patterns_.emplace(text, *std::move(dfa));
  return ok_status();
}

Status Document::check_id(const Place& place, const JsonValue& value) {
  const std::string* id = value.string();
  if (id == nullptr) return invalid_argument(at(*place.schema, "$id", "must be a string"));
  if (id->starts_with('#')) {
    anchors_.emplace(id->substr(1), place.schema);
    return ok_status();
  }
  if (place.schema != root_) {
    return unsupported(
        at(*place.schema, "$id", "\"$id\" is supported at the root of the document alone"));
  }
  return ok_status();
}

Status Document::resolve(const Place& place, const std::string& reference) {
  const JsonValue* id = root_->find("$id");
  std::string_view rest = reference;
  if (id != nullptr && id->string() != nullptr) {
    const std::string_view base =
        std::string_view(*id->string()).substr(0, id->string()->find('#'));
    const std::string_view target = rest.substr(0, rest.find('#'));
    if (!base.empty() && target == base) rest.remove_prefix(base.size());
  }
  if (!rest.empty() && rest[0] != '#') {
    return unsupported(at(*place.schema, "$ref",
                          fmt::format("\"{}\" leads out of the document, which is not supported",
                                      printable(reference))));
  }
  Result<const JsonValue*> found = find(place, fragment_of(rest));
  if (!found.ok()) return found.status();
  if (targets_.emplace(place.schema, *found).second) referring_.push_back(place.schema);
  todo_.push_back({*found, normalised(fragment_of(rest))});
  return ok_status();
}

Result<const JsonValue*> Document::find(const Place& place, std::string_view fragment) {
  const auto missing = [&, whole = fragment] {
    return invalid_argument(
        at(*place.schema, "$ref", fmt::format("\"#{}\" is not there", printable(whole))));
  };
  if (fragment.empty()) return root_;
  if (fragment[0] != '/') {
    const auto anchor = anchors_.find(unescaped(fragment));
    if (anchor == anchors_.end()) return missing();
    return anchor->second;
  }
  if (const auto known = places_.find(normalised(fragment)); known != places_.end())
    return known->second;
  const JsonValue* value = root_;
  while (!fragment.empty()) {
    fragment.remove_prefix(1);
    const std::size_t end = std::min(fragment.find('/'), fragment.size());
    value = step_into(*value, unescaped(fragment.substr(0, end)));
    if (value == nullptr) return missing();
    fragment.remove_prefix(end);
  }
  return value;
}

Status Document::check_loops() {
  // Depth first over the keywords that apply to the same value, on a stack of our own.
  std::unordered_map<const JsonValue*, int> colour;  // 1 on the way, 2 done
  for (const JsonValue* start : referring_) {
    std::vector<std::pair<const JsonValue*, bool>> stack{{start, false}};
    while (!stack.empty()) {
      const auto [schema, leaving] = stack.back();
      stack.pop_back();
      int& state = colour[schema];
      if (leaving) {
        state = 2;
        continue;
      }
      if (state == 2) continue;
      if (state == 1) {
        return invalid_argument(fmt::format(
            "JSON schema, {}: \"$ref\" leads back to the schema itself without a value between",
            printable(pointer(*schema))));
      }
      state = 1;
      stack.emplace_back(schema, true);
      const auto push = [&](const JsonValue* child) {
        if (child != nullptr) stack.emplace_back(child, false);
      };
      if (const auto target = targets_.find(schema); target != targets_.end()) push(target->second);
      for (const char* keyword : {"not", "if", "then", "else"}) push(schema->find(keyword));
      for (const char* keyword : {"allOf", "anyOf", "oneOf"}) {
        const JsonValue* list = schema->find(keyword);
        if (list == nullptr || list->array() == nullptr) continue;
        for (const JsonValue& child : *list->array()) push(&child);
      }
      for (const char* keyword : {"dependentSchemas", "dependencies"}) {
        const JsonValue* map = schema->find(keyword);
        if (map == nullptr || map->object() == nullptr) continue;
        for (const auto& [key, child] : *map->object()) push(&child);
      }
    }
  }
  return ok_status();
}

const JsonValue& Document::structure_of(const JsonValue& value, const JsonValue& owner) {
  const JsonValue*& known = structures_[&value];
  if (known != nullptr) return *known;
  const auto constant = [](const JsonValue& v) {
    return JsonValue{JsonValue::Object{{"const", v}}};
  };
  const JsonValue no{false};
  JsonValue::Object out;
  if (const auto* items = value.array(); items != nullptr) {
    JsonValue::Array prefix;
    for (const JsonValue& item : *items) prefix.push_back(constant(item));
    out = {{"type", JsonValue{std::string("array")}},
           {"minItems", JsonValue{static_cast<std::int64_t>(prefix.size())}},
           {"items", no}};
    if (!prefix.empty()) out.emplace_back("prefixItems", JsonValue{std::move(prefix)});
  } else {
    JsonValue::Object properties;
    JsonValue::Array required;
    for (const auto& [key, member] : *value.object()) {
      properties.emplace_back(key, constant(member));
      required.push_back(JsonValue{key});
    }
    out = {{"type", JsonValue{std::string("object")}},
           {"properties", JsonValue{std::move(properties)}},
           {"required", JsonValue{std::move(required)}},
           {"additionalProperties", no}};
  }
  made_.push_back(JsonValue{std::move(out)});
  // Errors inside what was made up point to the schema that holds the constant.
  const std::string place(pointer(owner));
  std::vector<const JsonValue*> todo{&made_.back()};
  while (!todo.empty()) {
    const JsonValue* at = todo.back();
    todo.pop_back();
    pointers_.emplace(at, place);
    if (at->array() != nullptr) {
      for (const JsonValue& child : *at->array()) todo.push_back(&child);
    } else if (at->object() != nullptr) {
      for (const auto& [key, child] : *at->object()) todo.push_back(&child);
    }
  }
  known = &made_.back();
  return *known;
}

}  // namespace minfer::sampling::schema
