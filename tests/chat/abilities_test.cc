#include "chat/abilities.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chat/chat_template.h"

namespace minfer::chat {
namespace {

constexpr std::string_view kChatMl =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// Refuses a system message; what remains alternates.
constexpr std::string_view kRefusing =
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}<{{ m.role }}>{{ m.content | trim }}"
    "{% endfor %}";

/// Shows users and replies, and drops all others.
constexpr std::string_view kDropping =
    "{% for m in messages %}{% if m.role == 'user' %}U:{{ m.content }}|{% elif m.role == "
    "'assistant' %}A:{{ m.content }}|{% endif %}{% endfor %}{{ 'A:' if add_generation_prompt }}";

Abilities abilities_of(std::string_view source) {
  const auto parsed = Template::parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? probe_template(*parsed, {"<s>", "</s>"}) : Abilities();
}

std::string prompt_of(std::string_view source, std::string_view messages,
                      std::string_view tools = "null") {
  const auto chat = ChatTemplate::create({std::string(source), {}, {"<s>", "</s>"}});
  if (!chat.ok()) return "ERROR " + chat.status().message();
  Conversation conversation;
  conversation.messages = *parse_json(messages);
  conversation.tools = *parse_json(tools);
  const auto spans = chat->render(conversation, {});
  if (!spans.ok()) return "ERROR " + spans.status().message();
  std::string text;
  for (const PromptSpan& span : *spans) text += span.text;
  return text;
}

constexpr std::string_view kSystemAndUser =
    R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])";
constexpr std::string_view kToolHistory =
    R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "tool_calls":
        [{"id": "call_1", "type": "function", "function":
          {"name": "get", "arguments": "{\"city\":\"Łódź\"}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3C"},
        {"role": "tool", "content": "4C"}])";

TEST(ChatAbilities, PlainTemplate) {
  const Abilities found = abilities_of(kChatMl);
  EXPECT_TRUE(found.usable && found.system_role && found.late_system && found.tool_results);
  EXPECT_FALSE(found.tools || found.tool_calls || found.list_content || found.enable_thinking);
  EXPECT_EQ(found.generation_prompt, "<|im_start|>assistant\n");
}

TEST(ChatAbilities, T_04_SystemTextThatWouldBeDroppedGoesBeforeTheFirstUserMessage) {
  EXPECT_FALSE(abilities_of(kDropping).system_role);
  EXPECT_EQ(prompt_of(kDropping, kSystemAndUser), "U:Be brief.\n\nHi|A:");
  EXPECT_EQ(prompt_of(kRefusing, kSystemAndUser), "<user>Be brief.\n\nHi");
  EXPECT_EQ(prompt_of(kDropping, R"([{"role": "system", "content": "a"},
      {"role": "developer", "content": "b"}, {"role": "user", "content": "c"},
      {"role": "assistant", "content": "d"}, {"role": "system", "content": "e"},
      {"role": "user", "content": "f"}, {"role": "system", "content": "g"}])"),
            "U:a\n\nb\n\nc|A:d|U:e\n\nf|U:g|A:");
  // It stays its message's text, for the engine as for the tokenizer.
  const auto chat = ChatTemplate::create({std::string(kDropping), {}, {}});
  Conversation conversation;
  conversation.messages = *parse_json(kSystemAndUser);
  const auto spans = chat->render(conversation, {});
  ASSERT_TRUE(spans.ok());
  ASSERT_EQ(spans->size(), 5U);
  EXPECT_EQ((*spans)[1].message, 0);
  EXPECT_EQ((*spans)[3].message, 1);
  EXPECT_EQ((*spans)[3].text, "Hi");
}

TEST(ChatAbilities, T_04_TheTemplatesOwnRefusalIsTheError) {
  // It shows no message at all: there is nowhere that the system text could go.
  constexpr std::string_view kSource =
      R"({% if messages[0].role=="system" %}{{ raise_exception("no system") }}{% endif %}x)";
  EXPECT_FALSE(abilities_of(kSource).usable);
  EXPECT_EQ(prompt_of(kSource, kSystemAndUser),
            "ERROR chat template, line 1, column 54: no system");
  EXPECT_NE(prompt_of(kRefusing, R"([{"role": "user", "content": "a"},
      {"role": "user", "content": "b"}])")
                .find("roles must alternate"),
            std::string::npos);
  EXPECT_EQ(prompt_of(kDropping, R"([{"role": "banana", "content": "a"},
      {"role": "user", "content": "b"}])"),
            "U:b|A:");
}

TEST(ChatAbilities, T_01_CallsAndResultsOfATemplateWithoutThem) {
  EXPECT_EQ(prompt_of(kDropping, kToolHistory),
            "U:Hi|A:{\"name\": \"get\", \"arguments\": {\"city\": \"Łódź\"}}|U:3C\n4C|A:");
  EXPECT_EQ(prompt_of(kChatMl, kToolHistory),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{\"name\": \"get\", "
            "\"arguments\": {\"city\": \"Łódź\"}}<|im_end|>\n<|im_start|>tool\n3C<|im_end|>\n"
            "<|im_start|>tool\n4C<|im_end|>\n<|im_start|>assistant\n");
}

std::string with_calls(std::string_view call) {
  return "{% for m in messages %}[{{ m.content or '' }}{% for c in m.tool_calls or [] %}" +
         std::string(call) + "{% endfor %}]{% endfor %}{{ tools }}";
}

TEST(ChatAbilities, T_01_ArgumentsInTheFormThatTheTemplateWants) {
  const std::string objects = with_calls("{{ c.function.arguments | tojson }}");
  const std::string texts = with_calls("{{ c.function.name + ' ' + c.function.arguments }}");
  const std::string mapping =
      with_calls("{% for k, v in c.function.arguments | items %}{{ k }}={{ v }}{% endfor %}");
  EXPECT_FALSE(abilities_of(objects).text_arguments);
  EXPECT_TRUE(abilities_of(texts).text_arguments);
  EXPECT_FALSE(abilities_of(mapping).broken_arguments);
  EXPECT_EQ(prompt_of(objects, kToolHistory), "[Hi][{\"city\": \"Łódź\"}][3C][4C]");
  EXPECT_EQ(prompt_of(texts, kToolHistory), "[Hi][get {\"city\":\"Łódź\"}][3C][4C]");
  EXPECT_EQ(prompt_of(mapping, kToolHistory), "[Hi][city=Łódź][3C][4C]");
  const auto history = [](std::string_view arguments) {
    return R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls":
        [{"function": {"name": "get", "arguments": )" +
           std::string(arguments) + "}}]}]";
  };
  EXPECT_EQ(prompt_of(objects, history(R"("{\"city\":\"Ł")")), "[Hi][\"{\\\"city\\\":\\\"Ł\"]");
  EXPECT_EQ(prompt_of(mapping, history(R"("{\"city\":\"Ł")")), "[Hi][arguments={\"city\":\"Ł]");
  EXPECT_EQ(prompt_of(texts, history(R"("{\"city\":\"Ł")")), "[Hi][get {\"city\":\"Ł]");
  EXPECT_EQ(prompt_of(texts, history(R"({"a": [1]})")), "[Hi][get {\"a\": [1]}]");
  EXPECT_EQ(prompt_of(objects, history("\"\"")), "[Hi][{}]");
  EXPECT_EQ(prompt_of(objects, history("null")), "[Hi][{}]");
}

TEST(ChatAbilities, T_01_NullAndPartsReachTheTemplateAsItWantsThem) {
  const std::string only_null =
      "{% for m in messages %}{% if m.content is none %}{{ m.tool_calls[0].function.arguments | "
      "tojson }}{% else %}[{{ m.content }}]{% endif %}{% endfor %}";
  EXPECT_TRUE(abilities_of(only_null).null_content);
  EXPECT_FALSE(abilities_of(only_null).empty_content);
  EXPECT_EQ(prompt_of(only_null, kToolHistory), "[Hi]{\"city\": \"Łódź\"}[3C][4C]");
  const std::string parts_only =
      "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %};{% endfor %}";
  EXPECT_TRUE(abilities_of(parts_only).list_content);
  EXPECT_EQ(prompt_of(parts_only, kSystemAndUser), "Be brief.;Hi;");
  EXPECT_EQ(prompt_of(kDropping, R"([{"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "text", "text": "b"}]}, {"role": "assistant", "content": null},
      {"role": "user", "content": ""}])"),
            "U:ab|A:|U:|A:");
}

TEST(ChatAbilities, IdsAndNamesOfCalls) {
  const std::string strict =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}"
      "{{ raise_exception('nine') }}{% endif %}{{ c.id ~ (c.function.arguments | tojson) }}"
      "{% endfor %}{% if m.role == 'tool' %}<{{ m.tool_call_id }} {{ m.name }}>{% endif %}"
      "{{ m.content }}{% endfor %}";
  EXPECT_TRUE(abilities_of(strict).short_call_ids);
  const std::string text = prompt_of(strict, kToolHistory);
  ASSERT_EQ(text.substr(0, 2), "Hi");
  const std::string id = text.substr(2, 9);
  EXPECT_EQ(text, "Hi" + id + "{\"city\": \"Łódź\"}<" + id + " get>3C< >4C");
}

TEST(ChatAbilities, T_02_ToolsAreNeverDroppedInSilence) {
  constexpr std::string_view kTools =
      R"([{"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}])";
  EXPECT_EQ(prompt_of(kChatMl, kSystemAndUser, kTools),
            "ERROR the chat template has no tool support");
  EXPECT_NE(prompt_of(with_calls(""), kSystemAndUser, kTools).find("get"), std::string::npos);
  EXPECT_NE(prompt_of(kChatMl, kSystemAndUser, "[]").find("Hi"), std::string::npos);
}

TEST(ChatAbilities, NamedTemplateForTools) {
  constexpr std::string_view kTools = R"([{"type": "function", "function": {"name": "get"}}])";
  const auto chat = ChatTemplate::create(
      {std::string(kDropping), {{"rag", "{{"}, {"tool_use", with_calls("")}}, {}});
  ASSERT_TRUE(chat.ok()) << chat.status().message();
  EXPECT_TRUE(chat->has_tool_template() && chat->abilities(true).tools);
  EXPECT_FALSE(chat->abilities(false).tools);
  Conversation conversation;
  conversation.messages = *parse_json(kSystemAndUser);
  EXPECT_EQ(chat->render(conversation, {})->front().text, "U:");
  conversation.tools = *parse_json(kTools);
  EXPECT_EQ(chat->render(conversation, {})->front().text, "[");
  EXPECT_FALSE(ChatTemplate::create({"", {}, {}}).ok());
  EXPECT_FALSE(ChatTemplate::create({"{{ 1 }}", {{"tool_use", "{{"}}, {}}).ok());
  EXPECT_TRUE(ChatTemplate::create({"", {{"default", "{{ 1 }}"}}, {}}).ok());
}

TEST(ChatAbilities, Reasoning) {
  const Abilities found = abilities_of(
      "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.tool_calls %}<think>"
      "{{ m.reasoning_content }}</think>{{ m.tool_calls[0].function.arguments }}{% else %}"
      "{{ m.content.split('</think>')[-1] }}{% endif %}{% else %}{{ m.content }}{% endif %}"
      "{% endfor %}{% if add_generation_prompt %}<a>{{ '<think>' if enable_thinking }}{% endif %}");
  EXPECT_TRUE(found.enable_thinking);
  EXPECT_FALSE(found.keeps_reasoning);
  EXPECT_EQ(found.generation_prompt, "<a>");
  EXPECT_TRUE(abilities_of(kChatMl).keeps_reasoning);
}

TEST(ChatAbilities, ReasoningOfAMessageHasEveryName) {
  const std::string_view source =
      "{% for m in messages %}[{{ m.content }}{{ m.reasoning_content }}/{{ m.thinking }}]"
      "{% endfor %}";
  for (const char* name : {"reasoning_content", "reasoning", "thinking"}) {
    EXPECT_EQ(
        prompt_of(source, R"([{"role": "user", "content": "a"}, {"role": "assistant", ")" +
                              std::string(name) +
                              R"(": "why", "content": "b"}, {"role": "user", "content": "c"}])"),
        "[a/][bwhy/why][c/]")
        << name;
  }
}

TEST(ChatAbilities, DeveloperIsTheSystemWhereTheTemplateDoesNotNameIt) {
  constexpr std::string_view kMessages =
      R"([{"role": "developer", "content": "a"}, {"role": "user", "content": "b"}])";
  EXPECT_EQ(prompt_of("{% for m in messages %}{{ m.role ~ m.content }}{% endfor %}", kMessages),
            "systemauserb");
  EXPECT_EQ(prompt_of("{# developer #}{% for m in messages %}{{ m.role ~ m.content }}{% endfor %}",
                      kMessages),
            "developerauserb");
}

TEST(ChatAbilities, BadMessagesAreNamedByPath) {
  const auto error = [](std::string_view messages, std::string_view tools = "null") {
    return prompt_of(kChatMl, messages, tools);
  };
  const auto calls = [&](const std::string& json) {
    return error(R"([{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": )" +
                 json + "}]");
  };
  EXPECT_EQ(calls("3"), "ERROR messages[1].tool_calls: a list of calls is needed");
  EXPECT_EQ(calls("[1]"), "ERROR messages[1].tool_calls[0]: an object is needed");
  EXPECT_EQ(
      calls(R"([{"function": {"name": "f"}}, {}])"),
      "ERROR messages[1].tool_calls[1].function: an object with name and arguments is needed");
  EXPECT_EQ(calls(R"([{"function": {"arguments": {}}}])"),
            "ERROR messages[1].tool_calls[0].function.name: the name of a function is needed");
  EXPECT_EQ(
      calls(R"([{"function": {"name": "f", "arguments": [1]}}])"),
      "ERROR messages[1].tool_calls[0].function.arguments: an object, or its text, is needed");
  EXPECT_EQ(calls(R"([{"id": 3, "function": {"name": "f"}}])"),
            "ERROR messages[1].tool_calls[0].id: a text is needed");
  EXPECT_EQ(error(R"([{"role": "user", "content": [{"type": "image_url"}]}])"),
            "ERROR messages[0].content[0]: only parts of type text are known");
  EXPECT_EQ(error(R"([{"role": "user", "content": 3}])"),
            "ERROR messages[0].content: text, null or a list of parts is needed");
  EXPECT_EQ(error(R"([{"role": "tool", "content": "", "tool_call_id": 1}])"),
            "ERROR messages[0].tool_call_id: a text is needed");
  EXPECT_EQ(error(kSystemAndUser, "{}"), "ERROR tools: an array is needed");
  EXPECT_EQ(error(kSystemAndUser, R"([{"type": "function"}])"),
            "ERROR tools[0].function: an object is needed");
  EXPECT_EQ(error(kSystemAndUser, R"([{"type": "web", "function": {"name": "f"}}])"),
            "ERROR tools[0].type: only \"function\" is known");
}

TEST(ChatAbilities, AHostileTemplateEndsTheProbe) {
  EXPECT_FALSE(abilities_of("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
                            "{% endfor %}{{ messages[0].content }}")
                   .usable);
  const Abilities found = abilities_of(
      "{{ messages[0].content }}{% if messages | length > 1 %}{% for a in range(99999) %}"
      "{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}");
  EXPECT_TRUE(found.usable);
  EXPECT_FALSE(found.late_system);
}

}  // namespace
}  // namespace minfer::chat
