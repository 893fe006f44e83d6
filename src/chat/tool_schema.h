// Tools: the functions that a request offers to the model, and which of them it must call.
//
// Invariants: names are unique and made of letters, digits, '_', '-' and '.', 1 to 64 of them;
// parameters is a JSON Schema object. Thread-safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"

namespace minfer::chat {

struct Tool {
  std::string name;
  std::string description;
  JsonValue parameters;  // JSON Schema; {"type": "object", "properties": {}} where none was given
};

struct ToolSet {
  std::vector<Tool> tools;
  JsonValue json;  // array in the form of OpenAI's API, for Conversation::tools; null: no tools

  [[nodiscard]] bool empty() const { return tools.empty(); }
  /// Null where there is none of the name.
  [[nodiscard]] const Tool* find(std::string_view name) const;
};

struct ToolChoice {
  enum class Kind : std::uint8_t { kAuto, kNone, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;  // kNamed

  [[nodiscard]] bool must_call() const { return kind == Kind::kRequired || kind == Kind::kNamed; }
};

/// `tools` of a request: null or an array of {"type": "function", "function": {"name",
/// "description", "parameters"}}. kInvalidArgument, by path: "tools[1].function.name: ...".
Result<ToolSet> parse_tools(const JsonValue& tools);

/// `tool_choice` of a request: null (auto with tools, none without), "auto", "none", "required" or
/// {"type": "function", "function": {"name": NAME}}. kInvalidArgument: another value, a name that
/// is no tool's, a call demanded where there are no tools.
Result<ToolChoice> parse_tool_choice(const JsonValue& choice, const ToolSet& tools);

/// As on a command line: auto, none, required, or a tool's name.
Result<ToolChoice> parse_tool_choice(std::string_view choice, const ToolSet& tools);

bool is_tool_name(std::string_view name);

/// Whether a parameter's schema admits text only, no text, or does not say.
enum class ParameterKind : std::uint8_t { kText, kOther, kEither };
ParameterKind parameter_kind(const Tool* tool, std::string_view parameter);

}  // namespace minfer::chat
