#include "chat/tool_schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace minfer::chat {
namespace {

constexpr std::size_t kMaxTools = 1024;
constexpr std::size_t kMaxName = 64;

std::string text_or_empty(const JsonValue* value) {
  return value != nullptr && value->string() != nullptr ? *value->string() : std::string();
}

JsonValue no_parameters() {
  JsonValue::Object schema;
  schema.emplace_back("type", JsonValue{std::string("object")});
  schema.emplace_back("properties", JsonValue{JsonValue::Object{}});
  return JsonValue{std::move(schema)};
}

Result<Tool> parse_tool(const JsonValue& json, const std::string& path) {
  if (json.object() == nullptr) return invalid_argument(path + ": an object is needed");
  const JsonValue* type = json.find("type");
  if (type != nullptr && text_or_empty(type) != "function")
    return unsupported(path + ".type: only \"function\" is known");
  const JsonValue* function = json.find("function");
  if (function == nullptr || function->object() == nullptr)
    return invalid_argument(path + ".function: an object is needed");
  Tool tool;
  const JsonValue* name = function->find("name");
  if (name == nullptr || name->string() == nullptr)
    return invalid_argument(path + ".function.name: a text is needed");
  tool.name = *name->string();
  if (!is_tool_name(tool.name))
    return invalid_argument(fmt::format(
        "{}.function.name: 1 to {} letters, digits, '_', '-' or '.' are needed", path, kMaxName));
  const JsonValue* description = function->find("description");
  if (description != nullptr && !description->is_null() && description->string() == nullptr)
    return invalid_argument(path + ".function.description: a text is needed");
  tool.description = text_or_empty(description);
  const JsonValue* parameters = function->find("parameters");
  tool.parameters = parameters == nullptr || parameters->is_null() ? no_parameters() : *parameters;
  if (tool.parameters.object() == nullptr)
    return invalid_argument(path + ".function.parameters: a JSON Schema object is needed");
  const JsonValue* kind = tool.parameters.find("type");
  if (kind != nullptr && text_or_empty(kind) != "object")
    return invalid_argument(path + ".function.parameters.type: arguments are an \"object\"");
  const JsonValue* properties = tool.parameters.find("properties");
  if (properties != nullptr && properties->object() == nullptr)
    return invalid_argument(path + ".function.parameters.properties: an object is needed");
  return tool;
}

bool all_text(const JsonValue::Array& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const JsonValue& v) { return v.string() != nullptr; });
}

bool any_text(const JsonValue::Array& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const JsonValue& v) { return v.string() != nullptr; });
}

ParameterKind kind_of_schema(const JsonValue& schema) {
  if (const JsonValue* type = schema.find("type")) {
    if (type->string() != nullptr)
      return *type->string() == "string" ? ParameterKind::kText : ParameterKind::kOther;
    if (const auto* types = type->array(); types != nullptr && !types->empty()) {
      const bool has_text = std::any_of(types->begin(), types->end(), [](const JsonValue& t) {
        return text_or_empty(&t) == "string";
      });
      if (!has_text) return ParameterKind::kOther;
      return types->size() == 1 ? ParameterKind::kText : ParameterKind::kEither;
    }
  }
  if (const JsonValue* values = schema.find("enum"); values != nullptr && values->array()) {
    if (all_text(*values->array())) return ParameterKind::kText;
    return any_text(*values->array()) ? ParameterKind::kEither : ParameterKind::kOther;
  }
  if (const JsonValue* value = schema.find("const"))
    return value->string() != nullptr ? ParameterKind::kText : ParameterKind::kOther;
  return ParameterKind::kEither;
}

Result<ToolChoice> named(std::string_view name, const ToolSet& tools) {
  if (tools.find(name) == nullptr)
    return invalid_argument(fmt::format("tool_choice: no tool is named \"{}\"", name));
  return ToolChoice{ToolChoice::Kind::kNamed, std::string(name)};
}

}  // namespace

const Tool* ToolSet::find(std::string_view name) const {
  const auto it =
      std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  return it == tools.end() ? nullptr : &*it;
}

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

Result<ToolSet> parse_tools(const JsonValue& tools) {
  ToolSet set;
  if (tools.is_null()) return set;
  const JsonValue::Array* list = tools.array();
  if (list == nullptr) return invalid_argument("tools: an array is needed");
  if (list->size() > kMaxTools)
    return invalid_argument(fmt::format("tools: {} of at most {}", list->size(), kMaxTools));
  for (const JsonValue& json : *list) {
    const std::string path = fmt::format("tools[{}]", set.tools.size());
    MINFER_ASSIGN_OR_RETURN(Tool tool, parse_tool(json, path));
    if (set.find(tool.name) != nullptr)
      return invalid_argument(
          fmt::format("{}.function.name: there are two tools \"{}\"", path, tool.name));
    set.tools.push_back(std::move(tool));
  }
  if (!set.empty()) set.json = tools;
  return set;
}

Result<ToolChoice> parse_tool_choice(std::string_view choice, const ToolSet& tools) {
  if (choice == "none") return ToolChoice{ToolChoice::Kind::kNone, {}};
  if (choice == "auto")
    return ToolChoice{tools.empty() ? ToolChoice::Kind::kNone : ToolChoice::Kind::kAuto, {}};
  if (choice == "required") {
    if (tools.empty()) return invalid_argument("tool_choice: \"required\" needs tools");
    return ToolChoice{ToolChoice::Kind::kRequired, {}};
  }
  return named(choice, tools);
}

Result<ToolChoice> parse_tool_choice(const JsonValue& choice, const ToolSet& tools) {
  if (choice.is_null()) return parse_tool_choice("auto", tools);
  if (const std::string* word = choice.string()) {
    if (*word != "auto" && *word != "none" && *word != "required")
      return invalid_argument(
          "tool_choice: \"auto\", \"none\", \"required\" or an object that names a function is "
          "needed");
    return parse_tool_choice(std::string_view(*word), tools);
  }
  const JsonValue* type = choice.find("type");
  if (type != nullptr && text_or_empty(type) != "function")
    return unsupported("tool_choice.type: only \"function\" is known");
  const JsonValue* function = choice.find("function");
  const JsonValue* name = function != nullptr ? function->find("name") : nullptr;
  if (name == nullptr || name->string() == nullptr)
    return invalid_argument("tool_choice.function.name: a text is needed");
  return named(*name->string(), tools);
}

ParameterKind parameter_kind(const Tool* tool, std::string_view parameter) {
  if (tool == nullptr) return ParameterKind::kEither;
  const JsonValue* properties = tool->parameters.find("properties");
  const JsonValue* schema = properties != nullptr ? properties->find(parameter) : nullptr;
  return schema != nullptr ? kind_of_schema(*schema) : ParameterKind::kEither;
}

}  // namespace minfer::chat
