#include "chat/abilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "chat/messages.h"

namespace minfer::chat {
namespace {

// Words that no template holds.
constexpr std::string_view kSystem = "qzsystemqz";
constexpr std::string_view kUser = "qzuserqz";
constexpr std::string_view kReply = "qzreplyqz";
constexpr std::string_view kThought = "qzthoughtqz";
constexpr std::string_view kTool = "qz_tool_qz";
constexpr std::string_view kKey = "qzkeyqz";
constexpr std::string_view kWord = "qzvalueqz";
constexpr std::string_view kResult = "qzresultqz";

constexpr std::string_view kShortId = "call00001";
constexpr std::string_view kLongId = "call_qz-0000000000001";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string say(std::string_view role, std::string_view content) {
  return fmt::format(R"({{"role": "{}", "content": "{}"}})", role, content);
}

std::string call_json(std::string_view id, std::string_view value) {
  return fmt::format(
      R"({{"id": "{}", "type": "function", "function": {{"name": "{}", "arguments": {{"{}": "{}"}}}}}})",
      id, kTool, kKey, value);
}

/// A turn of the assistant that calls.
std::string calling(const std::string& calls, bool null_content, std::string_view more = "") {
  return fmt::format(R"({{"role": "assistant", "content": {}, {}"tool_calls": [{}]}})",
                     null_content ? "null" : "\"\"", more, calls);
}

std::string result(std::string_view id) {
  return fmt::format(R"({{"role": "tool", "tool_call_id": "{}", "name": "{}", "content": "{}"}})",
                     id, kTool, kResult);
}

JsonValue tool_list() {
  return *parse_json(fmt::format(
      R"([{{"type": "function", "function": {{"name": "{}", "description": "d", "parameters":
          {{"type": "object", "properties": {{"{}": {{"type": "string", "description": "d"}}}},
          "required": ["{}"]}}}}}}])",
      kTool, kKey, kKey));
}

class Prober {
 public:
  Prober(const Template& source, const TokenNames& tokens) : source_(source), tokens_(tokens) {}

  Abilities probe() {
    user();
    if (!found_.usable) return found_;
    system();
    calls();
    tools();
    reasoning();
    return found_;
  }

 private:
  struct Extra {
    bool tools = false;
    bool generation_prompt = true;
    std::string_view arguments = {};
  };

  /// The prompt of the messages (their JSON, separated by commas); nothing where it fails.
  [[nodiscard]] std::optional<std::string> prompt(const std::string& messages, const Abilities& as,
                                                  Extra extra) const {
    const JsonValue json = *parse_json("[" + messages + "]");
    const auto read = read_messages(json);
    if (!read.ok()) return std::nullopt;
    const JsonValue tools = extra.tools ? tool_list() : JsonValue{};
    const JsonValue arguments =
        extra.arguments.empty() ? JsonValue{} : *parse_json(extra.arguments);
    ContextParts parts{&tokens_, &tools, &arguments, extra.generation_prompt};
    RenderOptions options;
    options.now.tm_mday = 1;
    options.limits.steps = 30'000;
    options.limits.total_bytes = std::uint64_t{1} << 20;
    const auto text = source_.render(make_context(*read, as, parts), options);
    if (!text.ok()) return std::nullopt;
    return text->bytes();
  }
  [[nodiscard]] std::optional<std::string> prompt(const std::string& messages) const {
    return prompt(messages, found_, {});
  }
  [[nodiscard]] bool shows(const std::string& messages, std::string_view word) const {
    const auto text = prompt(messages);
    return text && has(*text, word);
  }

  void user() {
    const std::string ask = say("user", kUser);
    found_.usable = shows(ask, kUser);
    if (!found_.usable) {
      found_.list_content = true;
      found_.usable = shows(ask, kUser);
      if (!found_.usable) return found_ = {}, void();
    }
    const auto open = prompt(ask);
    const auto closed = prompt(ask, found_, {.generation_prompt = false});
    if (!open || !closed) return;
    const auto differ = std::ranges::mismatch(*open, *closed);
    found_.generation_prompt.assign(differ.in1, open->end());
  }

  void system() {
    const std::string ask = say("user", kUser);
    const auto first = prompt(say("system", kSystem) + "," + ask);
    found_.system_role = first && has(*first, kSystem) && has(*first, kUser);
    found_.late_system = shows(
        ask + "," + say("assistant", kReply) + "," + say("system", kSystem) + "," + ask, kSystem);
  }

  /// Whether a call is shown, as it should be, in this form.
  [[nodiscard]] bool shows_call(bool null_content, bool text_arguments) const {
    Abilities as = found_;
    as.text_arguments = text_arguments;
    as.null_content = null_content;
    as.empty_content = !null_content;
    const auto text =
        prompt(say("user", kUser) + "," + calling(call_json(kShortId, kWord), null_content) + "," +
                   result(kShortId),
               as, {});
    if (!text || !has(*text, kWord)) return false;
    // A dict printed as Python would, or JSON inside of JSON, is the wrong form.
    return !has(*text, fmt::format("'{}':", kKey)) && !has(*text, fmt::format("\\\"{}", kKey));
  }

  void calls() {
    for (const bool text : {false, true}) {
      found_.null_content = shows_call(true, text);
      found_.empty_content = shows_call(false, text);
      found_.text_arguments = text;
      found_.tool_calls = found_.null_content || found_.empty_content;
      if (found_.tool_calls) break;
    }
    if (!found_.tool_calls) found_.text_arguments = false;
    const bool null = found_.null_content;
    const std::string ask = say("user", kUser) + ",";
    const auto loop = [&](std::string_view id) {
      return ask + calling(call_json(id, kWord), null) + "," + result(id);
    };
    if (!found_.tool_calls) {
      found_.tool_results = shows(ask + say("assistant", kReply) + "," + result(kShortId), kResult);
      return;
    }
    found_.tool_results = shows(loop(kShortId), kResult);
    found_.short_call_ids = !shows(loop(kLongId), kWord);
    const auto two = prompt(
        ask +
        calling(call_json(kShortId, kWord) + "," + call_json("call00002", "qzotherqz"), null) +
        "," + result(kShortId) + "," + result("call00002"));
    found_.parallel_tool_calls = two && has(*two, kWord) && has(*two, "qzotherqz");
    Abilities as = found_;
    as.broken_arguments = true;
    std::string broken = loop(kShortId);
    const std::string object = fmt::format(R"({{"{}": "{}"}})", kKey, kWord);
    broken.replace(broken.find(object), object.size(), fmt::format("\"{{{}\"", kWord));
    const auto shown = prompt(broken, as, {});
    found_.broken_arguments = shown && has(*shown, kWord);
  }

  void tools() {
    const auto text = prompt(say("user", kUser), found_, {.tools = true});
    found_.tools = text && has(*text, kTool) && has(*text, kUser);
  }

  void reasoning() {
    const std::string ask = say("user", kUser);
    const auto on = prompt(ask, found_, {.arguments = R"({"enable_thinking": true})"});
    const auto off = prompt(ask, found_, {.arguments = R"({"enable_thinking": false})"});
    found_.enable_thinking = on && off && *on != *off;
    const std::string thought =
        fmt::format(R"("reasoning_content": "{}", "thinking": "{}", )", kThought, kThought);
    found_.reasoning_content =
        found_.tool_calls &&
        shows(ask + "," + calling(call_json(kShortId, kWord), found_.null_content, thought) + "," +
                  result(kShortId),
              kThought);
    found_.keeps_reasoning = shows(
        ask + "," +
            say("assistant", fmt::format("<think>\\n{}\\n</think>\\n\\n{}", kThought, kReply)) +
            "," + ask,
        kThought);
  }

  const Template& source_;
  const TokenNames& tokens_;
  Abilities found_;
};

}  // namespace

Abilities probe_template(const Template& source, const TokenNames& tokens) {
  return Prober(source, tokens).probe();
}

}  // namespace minfer::chat
