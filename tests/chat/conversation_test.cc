#include <gtest/gtest.h>

#include <random>

#include "chat/chat_template.h"
#include "chat/request.h"

namespace minfer::chat {
namespace {

Conversation conversation_of(std::string_view messages) {
  Conversation conversation;
  auto json = parse_json(messages);
  EXPECT_TRUE(json.ok()) << messages;
  if (json.ok()) conversation.messages = std::move(*json);
  return conversation;
}

Result<std::vector<PromptSpan>> spans_of(std::string_view source,
                                         const Conversation& conversation) {
  MINFER_ASSIGN_OR_RETURN(const ChatTemplate chat,
                          ChatTemplate::create({std::string(source), {}, {"<s>", "</s>"}}));
  return chat.render(conversation, {});
}

/// What the spans of message `index` say, joined.
std::string said_by(const std::vector<PromptSpan>& spans, std::int32_t index) {
  std::string text;
  for (const PromptSpan& span : spans) {
    if (span.message == index) text += span.text;
  }
  return text;
}

bool is_subsequence(std::string_view part, std::string_view whole) {
  std::size_t at = 0;
  for (const char c : whole) {
    if (at < part.size() && part[at] == c) ++at;
  }
  return at == part.size();
}

std::string random_content(std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {
      "a", " ", "\n", "é", "<|im_end|>", "<b>", "\"", "</think>", "🦙", "user", "\\", ""};
  std::string text;
  for (int n = std::uniform_int_distribution<int>(0, 9)(random); n > 0; --n)
    text += kPieces[std::uniform_int_distribution<std::size_t>(0, std::size(kPieces) - 1)(random)];
  return text;
}

JsonValue random_messages(std::mt19937& random, std::vector<std::string>& contents) {
  JsonValue::Array messages;
  for (int n = std::uniform_int_distribution<int>(1, 6)(random); n > 0; --n) {
    contents.push_back(random_content(random));
    messages.push_back(make_message(n % 2 == 0 ? "assistant" : "user", contents.back()));
  }
  return JsonValue{std::move(messages)};
}

TEST(ChatConversation, SpansNameTheirMessage) {
  const auto spans = spans_of(
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
      conversation_of(
          R"([{"role": "system", "content": "be"}, {"role": "user", "content": [{"type": "text",
              "text": "H"}, {"type": "text", "text": "i"}]}])"));
  ASSERT_TRUE(spans.ok()) << spans.status().message();
  std::string shown;
  for (const PromptSpan& span : *spans)
    shown += (span.from_template ? "T" : std::to_string(span.message)) + "[" + span.text + "]";
  EXPECT_EQ(shown, "T[<s><]-1[system]T[>]0[be]T[<]-1[user]T[>]1[Hi]");
}

TEST(ChatConversation, MessagesThatTheTemplateEmitsUnchangedAreWhole) {
  static constexpr std::string_view kEmit[] = {
      "{{ m.content }}",
      "{{ m['content'] }}",
      "{{ '<' + m.content + '>' }}",
      "{{ '[' ~ m.role ~ ']' ~ m.content }}",
      "{{ say(m.content) }}",
      "{% set c = m.content %}{{ c }}",
      "{% set c %}{{ m.content }}{% endset %}{{ c | string }}",
      "{% filter string %}x{{ m.content }}{% endfilter %}",
      "{{ [m.role, m.content] | join(': ') }}",
      "{{ m.content.split('zz') | join('zz') }}",
      "{{ m.content[:3] ~ m.content[3:] }}",
      "{{ m.content | replace('zz', 'y') }}",
      "{{ m.content | list | join }}",
      "{{ [m] | map(attribute='content') | first }}",
      "{{ m.content if m.content is string else '' }}",
      "{{ m.content | trim }}",
      "{{ m.content | tojson }}",
      "{{ (m.content | upper) ~ m.content.split('</think>')[-1] }}",
  };
  constexpr std::size_t n_identity = std::size(kEmit) - 3;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < std::size(kEmit); ++i) {
    const std::string source =
        "{% macro say(x) %}({{ x }}){% endmacro %}{% for m in messages %}{{ "
        "'<|im_start|>' }}" +
        std::string(kEmit[i]) + "<|im_end|>{% endfor %}";
    for (int round = 0; round < 40; ++round) {
      std::vector<std::string> contents;
      Conversation conversation;
      conversation.messages = random_messages(random, contents);
      const auto spans = spans_of(source, conversation);
      ASSERT_TRUE(spans.ok()) << kEmit[i] << ": " << spans.status().message();
      for (std::size_t k = 0; k < contents.size(); ++k) {
        const std::string said = said_by(*spans, static_cast<std::int32_t>(k));
        if (i < n_identity) {
          EXPECT_EQ(said, contents[k]) << kEmit[i];
        } else if (i + 1 < std::size(kEmit)) {
          EXPECT_TRUE(is_subsequence(said, contents[k])) << kEmit[i] << ": " << said;
        }
      }
    }
  }
}

TEST(ChatConversation, NeighboursOfOneHandAreOneSpan) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> contents;
    Conversation conversation;
    conversation.messages = random_messages(random, contents);
    const auto spans =
        spans_of("{% for m in messages %}{{ m.content }}{{ m.role }}{% endfor %}", conversation);
    ASSERT_TRUE(spans.ok());
    for (std::size_t i = 0; i < spans->size(); ++i) {
      const PromptSpan& span = (*spans)[i];
      EXPECT_FALSE(span.text.empty());
      EXPECT_TRUE(span.message < 0 || !span.from_template);
      if (i == 0) continue;
      const PromptSpan& before = (*spans)[i - 1];
      EXPECT_FALSE(before.from_template == span.from_template && before.message == span.message);
    }
  }
}

TEST(ChatRequest, T_02_ToolsOfATemplateWithoutThemAreDescribed) {
  const auto chat = ChatTemplate::create(
      {"{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", {}, {}});
  ASSERT_TRUE(chat.ok());
  const std::string body = R"("tools": [{"type": "function", "function": {"name": "weather"}}],
      "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"}])";
  auto request = read_request(*parse_json("{" + body + "}"));
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_TRUE(*describe_tools(*chat, *request));
  const auto spans = chat->render(request->conversation, {});
  ASSERT_TRUE(spans.ok()) << spans.status().message();
  EXPECT_EQ(said_by(*spans, 1), "a");
  EXPECT_TRUE(said_by(*spans, 0).starts_with("Be brief.\n\n"));
  EXPECT_NE(said_by(*spans, 0).find("weather"), std::string::npos);
  EXPECT_FALSE(*describe_tools(*chat, *request));
  auto required = read_request(*parse_json("{" + body + R"(, "tool_choice": "required"})"));
  ASSERT_TRUE(required.ok());
  EXPECT_EQ(describe_tools(*chat, *required).status().message(),
            "tool_choice: template has no tool support");
  auto bare = read_request(*parse_json(
      R"({"tools": [{"type": "function", "function": {"name": "weather"}}], "messages":
          [{"role": "user", "content": "a"}]})"));
  EXPECT_TRUE(*describe_tools(*chat, *bare));
  EXPECT_EQ(bare->conversation.messages.array()->size(), 2U);
}

TEST(ChatRequest, ListOfMessagesOrBody) {
  const auto list = read_request(*parse_json(R"([{"role": "user", "content": "a"}])"));
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->conversation.messages.array()->size(), 1U);
  const std::string body = R"({"model": "m", "messages": [{"role": "user", "content": "a"}],
      "tools": [{"type": "function", "function": {"name": "f"}}],
      "chat_template_kwargs": {"enable_thinking": false})";
  const auto whole = read_request(*parse_json(body + "}"));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->conversation.tools.array()->size(), 1U);
  EXPECT_EQ(whole->conversation.arguments.object()->size(), 1U);
  EXPECT_EQ(whole->tool_choice.kind, ToolChoice::Kind::kAuto);
  const auto none = read_request(*parse_json(body + R"(, "tool_choice": "none"})"));
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->conversation.tools.is_null());
  const auto named = read_request(
      *parse_json(body + R"(, "tool_choice": {"type": "function", "function": {"name": "f"}}})"));
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->tool_choice.name, "f");
  const auto error = [&](const std::string& json) {
    const auto request = read_request(*parse_json(json));
    return request.ok() ? "" : request.status().message();
  };
  EXPECT_EQ(error(R"({"tool_choice": "required"})"), "tool_choice: \"required\" needs tools");
  EXPECT_EQ(error(R"({"tool_choice": "maybe"})"),
            "tool_choice: \"auto\", \"none\", \"required\" or an object that names a function is "
            "needed");
  EXPECT_EQ(error(body + R"(, "tool_choice": {"function": {"name": "g"}}})"),
            "tool_choice: no tool is named \"g\"");
  EXPECT_EQ(error(R"({"tools": [3]})"), "tools[0]: an object is needed");
  EXPECT_EQ(error(R"({"chat_template_kwargs": 3})"), "chat_template_kwargs: an object is needed");
}

}  // namespace
}  // namespace minfer::chat
