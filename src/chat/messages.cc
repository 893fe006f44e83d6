#include "chat/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hashing.h"
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

JsonValue* find_member(JsonValue::Object& object, std::string_view name) {
  for (auto& [key, value] : object) {
    if (key == name) return &value;
  }
  return nullptr;
}

void set_member(JsonValue::Object& object, std::string_view name, JsonValue value) {
  if (JsonValue* member = find_member(object, name)) {
    *member = std::move(value);
  } else {
    object.emplace_back(name, std::move(value));
  }
}

const std::string* text_of(const JsonValue* value) {
  return value != nullptr ? value->string() : nullptr;
}

bool is_absent(const JsonValue* value) { return value == nullptr || value->is_null(); }

Result<std::string> joined_content(const JsonValue& content, const std::string& path) {
  if (const std::string* text = content.string()) return *text;
  if (content.array() == nullptr)
    return invalid_argument(path + ": text, null or a list of parts is needed");
  std::string text;
  for (std::size_t i = 0; i < content.array()->size(); ++i) {
    const JsonValue& part = (*content.array())[i];
    const std::string* type = text_of(part.find("type"));
    const std::string* said = text_of(part.find("text"));
    const bool known =
        part.find("type") == nullptr ||
        (type != nullptr && (*type == "text" || *type == "input_text" || *type == "output_text"));
    if (said == nullptr || !known)
      return unsupported(fmt::format("{}[{}]: only parts of type text are known", path, i));
    text += *said;
  }
  return text;
}

Status check_call(const JsonValue& call, const std::string& path) {
  if (call.object() == nullptr) return invalid_argument(path + ": an object is needed");
  if (!is_absent(call.find("id")) && call.find("id")->string() == nullptr)
    return invalid_argument(path + ".id: a text is needed");
  const JsonValue* function = call.find("function");
  if (function == nullptr || function->object() == nullptr)
    return invalid_argument(path + ".function: an object with name and arguments is needed");
  const std::string* name = text_of(function->find("name"));
  if (name == nullptr || name->empty())
    return invalid_argument(path + ".function.name: the name of a function is needed");
  const JsonValue* arguments = function->find("arguments");
  if (!is_absent(arguments) && arguments->object() == nullptr && arguments->string() == nullptr)
    return invalid_argument(path + ".function.arguments: an object, or its text, is needed");
  return ok_status();
}

Status check_calls(const JsonValue* calls, const std::string& path) {
  if (is_absent(calls)) return ok_status();
  if (calls->array() == nullptr) return invalid_argument(path + ": a list of calls is needed");
  for (std::size_t i = 0; i < calls->array()->size(); ++i)
    MINFER_RETURN_IF_ERROR(check_call((*calls->array())[i], fmt::format("{}[{}]", path, i)));
  return ok_status();
}

Result<ChatMessage> read_message(const JsonValue& json, std::size_t index) {
  const std::string path = fmt::format("messages[{}]", index);
  ChatMessage message;
  const std::string* role = text_of(json.find("role"));
  if (role == nullptr) return invalid_argument(path + ": an object with a role is needed");
  message.role = *role;
  message.members = *json.object();
  const JsonValue* content = json.find("content");
  if (!is_absent(content)) {
    MINFER_ASSIGN_OR_RETURN(std::string text, joined_content(*content, path + ".content"));
    message.content = Text(std::move(text), message_origin(index));
  }
  MINFER_RETURN_IF_ERROR(check_calls(json.find("tool_calls"), path + ".tool_calls"));
  for (const char* name : {"tool_call_id", "name", "reasoning_content", "reasoning", "thinking"}) {
    if (!is_absent(json.find(name)) && json.find(name)->string() == nullptr)
      return invalid_argument(fmt::format("{}.{}: a text is needed", path, name));
  }
  return message;
}

/// Calls as lines of JSON behind the content.
void write_calls(ChatMessage& message) {
  for (const JsonValue& call : *message.calls()) {
    const JsonValue& function = *call.find("function");
    JsonValue::Object line;
    line.emplace_back("name", *function.find("name"));
    const JsonValue* arguments = function.find("arguments");
    JsonValue shown{JsonValue::Object{}};
    if (!is_absent(arguments)) shown = *arguments;
    auto parsed = parse_json(text_of(arguments) != nullptr ? *arguments->string() : "");
    if (parsed.ok()) shown = std::move(*parsed);
    line.emplace_back("arguments", std::move(shown));
    if (message.content.size() > 0) message.content.append("\n", Origin::kRequest);
    message.content.append(dumps(JsonValue{std::move(line)}), Origin::kRequest);
  }
  std::erase_if(message.members, [](const auto& member) { return member.first == "tool_calls"; });
}

/// Nine letters and digits that stand for any id.
std::string short_id(const std::string& id) {
  if (id.size() == 9 && std::ranges::all_of(id, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      }))
    return id;
  return fmt::format("{:016x}", hash64(std::string_view(id))).substr(0, 9);
}

/// Every call has an id, every result the id and the name of its call.
class CallNames {
 public:
  explicit CallNames(bool short_ids) : short_ids_(short_ids) {}

  void fill(ChatMessage& message) {
    if (message.calls() != nullptr) {
      open_.clear();
      for (JsonValue& call :
           *std::get_if<JsonValue::Array>(&find_member(message.members, "tool_calls")->data))
        add(std::get<JsonValue::Object>(call.data));
    } else if (message.role == "tool") {
      answer(message);
    }
  }

 private:
  struct Call {
    std::string id, name;
  };

  void add(JsonValue::Object& call) {
    const std::string* given = text_of(find_member(call, "id"));
    std::string id = given != nullptr ? *given : fmt::format("call{:05}", n_++);
    if (short_ids_) id = short_id(id);
    open_.push_back({id, *find_member(call, "function")->find("name")->string()});
    set_member(call, "id", JsonValue{std::move(id)});
  }

  void answer(ChatMessage& message) {
    const std::string* given = text_of(message.member("tool_call_id"));
    auto call = open_.begin();
    if (given != nullptr) {
      const std::string id = short_ids_ ? short_id(*given) : *given;
      set_member(message.members, "tool_call_id", JsonValue{id});
      call = std::ranges::find(open_, id, &Call::id);
    }
    if (call == open_.end()) return;
    if (given == nullptr) set_member(message.members, "tool_call_id", JsonValue{call->id});
    if (is_absent(message.member("name")))
      set_member(message.members, "name", JsonValue{call->name});
    open_.erase(call);
  }

  bool short_ids_;
  int n_ = 0;
  std::vector<Call> open_;  // those that have no result yet
};

void name_reasoning(ChatMessage& message) {
  for (const char* name : {"reasoning_content", "reasoning", "thinking"}) {
    if (is_absent(message.member(name))) continue;
    const JsonValue said = *message.member(name);
    for (const char* other : {"reasoning_content", "thinking"}) {
      if (is_absent(message.member(other))) set_member(message.members, other, said);
    }
    return;
  }
}

ChatMessage user_message(Text content) {
  ChatMessage message;
  message.role = "user";
  message.content = std::move(content);
  message.members.emplace_back("role", JsonValue{std::string("user")});
  return message;
}

void append_block(Text& text, const Text& more, std::string_view between) {
  if (text.size() > 0) text.append(between, Origin::kRequest);
  text.append(more);
}

/// System messages that the template would drop go before the next user's text.
std::vector<ChatMessage> fold_system(std::vector<ChatMessage> messages,
                                     const Abilities& abilities) {
  std::vector<ChatMessage> out;
  Text waiting;
  for (ChatMessage& message : messages) {
    const bool shown =
        out.empty() && waiting.size() == 0 ? abilities.system_role : abilities.late_system;
    if (message.role == "system" && !shown) {
      append_block(waiting, message.content, "\n\n");
      continue;
    }
    if (message.role == "user" && waiting.size() > 0) {
      append_block(waiting, message.content, "\n\n");
      message.content = std::exchange(waiting, {});
    }
    out.push_back(std::move(message));
  }
  if (waiting.size() > 0) out.push_back(user_message(std::move(waiting)));
  return out;
}

/// Results of tools as the user's turns.
std::vector<ChatMessage> results_as_user(std::vector<ChatMessage> messages) {
  std::vector<ChatMessage> out;
  bool open = false;
  for (ChatMessage& message : messages) {
    const bool result = message.role == "tool";
    if (result && open) {
      append_block(out.back().content, message.content, "\n");
    } else {
      out.push_back(result ? user_message(std::move(message.content)) : std::move(message));
    }
    open = result;
  }
  return out;
}

/// A call's arguments in the form that the template wants.
JsonValue shaped_arguments(const JsonValue* given, const Abilities& abilities) {
  if (is_absent(given)) given = nullptr;
  const std::string* text = text_of(given);
  if (abilities.text_arguments) {
    if (text != nullptr) return *given;
    return JsonValue{given == nullptr ? std::string("{}") : dumps(*given)};
  }
  if (given == nullptr || (text != nullptr && text->empty())) return JsonValue{JsonValue::Object{}};
  if (text == nullptr) return *given;
  auto parsed = parse_json(*text);
  if (parsed.ok() && parsed->object() != nullptr) return std::move(*parsed);
  if (abilities.broken_arguments || !abilities.usable) return *given;
  JsonValue::Object wrapped;
  wrapped.emplace_back("arguments", *given);
  return JsonValue{std::move(wrapped)};
}

JsonValue shaped_calls(const JsonValue::Array& calls, const Abilities& abilities) {
  JsonValue::Array out = calls;
  for (JsonValue& call : out) {
    JsonValue* function = find_member(std::get<JsonValue::Object>(call.data), "function");
    auto& fields = std::get<JsonValue::Object>(function->data);
    set_member(fields, "arguments", shaped_arguments(function->find("arguments"), abilities));
  }
  return JsonValue{std::move(out)};
}

Value content_value(const ChatMessage& message, const Abilities& abilities) {
  const bool bare_call = message.calls() != nullptr && message.content.size() == 0;
  if (bare_call && abilities.null_content && !abilities.empty_content) return {};
  if (!abilities.list_content) return Value(message.content);
  Dict part;
  part.set(Value::request("type"), Value::request("text"));
  part.set(Value::request("text"), Value(message.content));
  return Value::list({Value::dict(std::move(part))});
}

}  // namespace

const JsonValue* ChatMessage::member(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

const JsonValue::Array* ChatMessage::calls() const {
  const JsonValue* value = member("tool_calls");
  const JsonValue::Array* calls = value != nullptr ? value->array() : nullptr;
  return calls != nullptr && !calls->empty() ? calls : nullptr;
}

Result<std::vector<ChatMessage>> read_messages(const JsonValue& messages) {
  if (messages.array() == nullptr || messages.array()->empty())
    return invalid_argument("the conversation has no message: a JSON array of messages is needed");
  std::vector<ChatMessage> out;
  for (const JsonValue& json : *messages.array()) {
    MINFER_ASSIGN_OR_RETURN(ChatMessage message, read_message(json, out.size()));
    out.push_back(std::move(message));
  }
  return out;
}

void adapt_messages(std::vector<ChatMessage>& messages, const Abilities& abilities,
                    bool knows_developer) {
  CallNames names(abilities.short_call_ids);
  for (ChatMessage& message : messages) {
    if (message.role == "developer" && !knows_developer) message.role = "system";
    if (!abilities.usable) continue;
    name_reasoning(message);
    names.fill(message);
    if (message.calls() != nullptr && !abilities.tool_calls) write_calls(message);
  }
  if (!abilities.usable) return;
  if (!abilities.tool_results) messages = results_as_user(std::move(messages));
  messages = fold_system(std::move(messages), abilities);
}

Value message_value(const ChatMessage& message, const Abilities& abilities) {
  Dict out;
  for (const auto& [name, value] : message.members) {
    if (name == "role") {
      out.set(Value::request(name), Value::request(message.role));
    } else if (name == "content") {
      out.set(Value::request(name), content_value(message, abilities));
    } else if (name == "tool_calls" && message.calls() != nullptr) {
      out.set(Value::request(name), Value::from_json(shaped_calls(*message.calls(), abilities)));
    } else {
      out.set(Value::request(name), Value::from_json(value));
    }
  }
  if (message.member("content") == nullptr)
    out.set(Value::request("content"), content_value(message, abilities));
  return Value::dict(std::move(out));
}

Value make_context(const std::vector<ChatMessage>& messages, const Abilities& abilities,
                   const ContextParts& parts) {
  Dict context;
  const auto set = [&](std::string_view name, Value value) {
    context.set(Value::literal(std::string(name)), std::move(value));
  };
  if (parts.tokens != nullptr) {
    set("bos_token", Value::literal(parts.tokens->bos));
    set("eos_token", Value::literal(parts.tokens->eos));
  }
  if (parts.arguments != nullptr && parts.arguments->object() != nullptr) {
    for (const auto& [name, value] : *parts.arguments->object()) set(name, Value::from_json(value));
  }
  std::vector<Value> values;
  for (const ChatMessage& message : messages) values.push_back(message_value(message, abilities));
  set("messages", Value::list(std::move(values)));
  if (parts.tools != nullptr && parts.tools->array() != nullptr && !parts.tools->array()->empty())
    set("tools", Value::from_json(*parts.tools));
  set("add_generation_prompt", Value(parts.add_generation_prompt));
  return Value::dict(std::move(context));
}

std::string dumps(const JsonValue& json) {
  Limits none;
  none.steps = none.output_bytes = none.total_bytes = UINT64_MAX;
  none.seconds = 1e9;
  Run run(none, {}, Value());
  return filter_tojson(run, Value::from_json(json), {}).text()->bytes();
}

}  // namespace minfer::chat
