#include "chat/tool_prompt.h"

#include "chat/reply_value.h"

namespace minfer::chat {

Status check_tool_prompt(const ToolChoice& choice) {
  if (!choice.must_call()) return ok_status();
  return unsupported("tool_choice: template has no tool support");
}

std::string tool_prompt(const ToolSet& tools) {
  std::string out =
      "You can call functions. To call one, reply with only a JSON object of this form:\n"
      "{\"name\": \"FUNCTION\", \"arguments\": {\"PARAMETER\": VALUE}}\n"
      "If no function is needed, reply in plain text. The functions are:\n";
  for (const Tool& tool : tools.tools) {
    out += "\n" + tool.name;
    if (!tool.description.empty()) out += ": " + tool.description;
    out += "\nJSON Schema of its arguments: " + json_text(tool.parameters) + "\n";
  }
  return out;
}

ReplyFormat tool_prompt_format(ReplyFormat format) {
  format.calls = CallFormat{};
  format.calls.shape = CallShape::kObject;
  format.calls.family = "plain JSON";
  format.calls.name_key = "name";
  format.calls.arguments_key = "arguments";
  return format;
}

}  // namespace minfer::chat
