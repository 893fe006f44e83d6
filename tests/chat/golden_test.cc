// golden/templates: 50 chat templates, each with the texts or errors that jinja2 gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/json_reader.h"
#include "chat/chat_template.h"
#include "tests/chat/golden_folder.h"

namespace minfer::chat {
namespace {

/// Calls `use(source, options, case)` for every case of every template.
template <class Use>
void for_each_case(const Use& use) {
  const std::filesystem::path folder = golden_templates();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().string().ends_with(".cases.json")) continue;
    const auto file = parse_json(read_file(entry.path()));
    ASSERT_TRUE(file.ok()) << entry.path() << ": " << file.status().message();
    const std::string source = read_file(folder / *file->find("template")->string());
    RenderOptions options;
    ASSERT_NE(::strptime(file->find("now")->string()->c_str(), "%Y-%m-%d %H:%M:%S", &options.now),
              nullptr);
    for (const JsonValue& one : *file->find("cases")->array()) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + *one.find("name")->string());
      use(source, options, one);
    }
  }
}

TEST(ChatGolden, AllTemplates) {
  if (!std::filesystem::is_directory(golden_templates())) GTEST_SKIP() << "no golden data";
  int n = 0;
  for_each_case([&](const std::string& source, const RenderOptions& options, const JsonValue& one) {
    ++n;
    const auto parsed = Template::parse(source);
    const JsonValue* expected = one.find("expected");
    if (!parsed.ok()) {
      EXPECT_EQ(expected, nullptr) << parsed.status().message();
      return;
    }
    const auto text = parsed->render(Value::from_json(*one.find("context")), options);
    if (expected == nullptr) {
      EXPECT_FALSE(text.ok()) << "an error is due: " << *one.find("raises")->string();
    } else if (!text.ok()) {
      ADD_FAILURE() << text.status().message();
    } else {
      EXPECT_EQ(text->bytes(), *expected->string());
    }
  });
  EXPECT_EQ(n, 497);
}

bool has_role(const JsonValue& messages, std::string_view role) {
  return std::ranges::any_of(*messages.array(), [&](const JsonValue& message) {
    return *message.find("role")->string() == role;
  });
}

bool has_calls(const JsonValue& messages) {
  return std::ranges::any_of(*messages.array(), [](const JsonValue& message) {
    return message.find("tool_calls") != nullptr;
  });
}

/// The case as a conversation; nothing where it does not ask for a reply.
std::optional<Conversation> conversation_of(const JsonValue& context) {
  const JsonValue* prompt = context.find("add_generation_prompt");
  const JsonValue* messages = context.find("messages");
  if (prompt == nullptr || messages == nullptr || std::get_if<bool>(&prompt->data) == nullptr ||
      !std::get<bool>(prompt->data) ||
      *messages->array()->back().find("role")->string() == "assistant")
    return std::nullopt;
  Conversation out;
  JsonValue::Object more;
  for (const auto& [name, value] : *context.object()) {
    if (name == "messages") {
      out.messages = value;
    } else if (name == "tools") {
      out.tools = value;
    } else if (name != "add_generation_prompt") {
      more.emplace_back(name, value);
    }
  }
  out.arguments = JsonValue{std::move(more)};
  return out;
}

// Where a template knows all that a conversation holds, nothing is said in another way.
TEST(ChatGolden, ConversationsThatTheTemplateKnowsAreUnchanged) {
  if (!std::filesystem::is_directory(golden_templates())) GTEST_SKIP() << "no golden data";
  int n = 0;
  for_each_case([&](const std::string& source, const RenderOptions& options, const JsonValue& one) {
    const auto conversation = conversation_of(*one.find("context"));
    const auto chat = ChatTemplate::create({source, {}, {}});
    if (!conversation || !chat.ok() || one.find("expected") == nullptr) return;
    const bool with_tools = conversation->tools.array() != nullptr;
    const Abilities& knows = chat->abilities(with_tools);
    const JsonValue& messages = conversation->messages;
    if ((with_tools && !knows.tools) || (has_role(messages, "system") && !knows.system_role) ||
        (has_calls(messages) && !knows.tool_calls) ||
        (has_role(messages, "tool") && !knows.tool_results))
      return;
    ++n;
    const auto spans = chat->render(*conversation, options);
    ASSERT_TRUE(spans.ok()) << spans.status().message();
    std::string text;
    for (const PromptSpan& span : *spans) text += span.text;
    EXPECT_EQ(text, *one.find("expected")->string());
  });
  EXPECT_GT(n, 350);
}

}  // namespace
}  // namespace minfer::chat
