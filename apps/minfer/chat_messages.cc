#include "chat_messages.h"

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace minfer::app {
namespace {

Status bad_record() { return corrupt("a saved message is damaged"); }

}  // namespace

std::string message_record(const engine::Message& message) {
  JsonWriter json;
  json.begin_object();
  json.key("role").string(message.role);
  json.key("content").string(message.content);
  if (!message.ids.empty()) {
    json.key("ids").begin_array();
    for (const engine::TokenId id : message.ids) json.integer(id);
    json.end_array();
  }
  json.end_object();
  return json.text();
}

Result<engine::Message> parse_message_record(std::string_view text) {
  const auto json = parse_json(text);
  if (!json.ok()) return bad_record();
  const JsonValue* role = json->find("role");
  const JsonValue* content = json->find("content");
  if (role == nullptr || role->string() == nullptr || content == nullptr ||
      content->string() == nullptr) {
    return bad_record();
  }
  engine::Message message{*role->string(), *content->string(), {}};
  const JsonValue* ids = json->find("ids");
  if (ids == nullptr) return message;
  if (ids->array() == nullptr) return bad_record();
  for (const JsonValue& id : *ids->array()) {
    const auto* value = std::get_if<std::int64_t>(&id.data);
    if (value == nullptr || *value < 0 || *value > INT32_MAX) return bad_record();
    message.ids.push_back(static_cast<engine::TokenId>(*value));
  }
  return message;
}

std::string state_record(const engine::ConversationState& state) {
  JsonWriter json;
  json.begin_object();
  json.key("attempt").unsigned_integer(state.attempt);
  json.end_object();
  return json.text();
}

Status parse_state_record(std::string_view text, engine::ConversationState& state) {
  if (text.empty()) return ok_status();
  const auto json = parse_json(text);
  if (!json.ok()) return bad_record();
  if (const JsonValue* attempt = json->find("attempt"); attempt != nullptr) {
    const auto* value = std::get_if<std::int64_t>(&attempt->data);
    if (value == nullptr || *value < 0 || *value > INT32_MAX) return bad_record();
    state.attempt = static_cast<std::uint32_t>(*value);
  }
  return ok_status();
}

}  // namespace minfer::app
