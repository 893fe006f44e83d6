// Any bytes as a chat template, probed and rendered over two conversations under small limits: no
// crash, no undefined behaviour, and no byte that only one hand wrote is ever taken for another's.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chat/chat_template.h"

namespace {

namespace chat = minfer::chat;

// Each message's content has a character of its own.
constexpr std::string_view kMarks = "\x01\x02\x03";

chat::Conversation conversation_of(std::string_view last) {
  chat::Conversation c;
  std::string json = R"([{"role": "system", "content": "\u0001s"},
      {"role": "user", "content": [{"type": "text", "text": " \u0002 a b "}]}, )";
  json.append(last).append("]");
  c.messages = *minfer::parse_json(json);
  return c;
}

void check(const std::vector<chat::PromptSpan>& spans) {
  for (const chat::PromptSpan& span : spans) {
    if (span.from_template && span.message >= 0) __builtin_trap();
    for (std::size_t i = 0; i < 2; ++i) {
      // %c makes one out of a number, as the request's.
      if (span.text.find(kMarks[i]) != std::string::npos &&
          (span.from_template ||
           (span.message >= 0 && span.message != static_cast<std::int32_t>(i))))
        __builtin_trap();
    }
    if (span.from_template && span.text.find(kMarks[2]) != std::string::npos) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  // The template's own text has no such character.
  if (source.find_first_of(kMarks) != std::string_view::npos ||
      source.find('\\') != std::string_view::npos)
    return 0;
  const auto parsed = chat::ChatTemplate::create({std::string(source), {}, {"<s>", "</s>"}});
  if (!parsed.ok()) return 0;
  chat::RenderOptions options;
  options.limits.steps = 100'000;
  options.limits.total_bytes = 1 << 20;
  static const chat::Conversation kConversations[] = {
      conversation_of(R"({"role": "assistant", "content": null, "tool_calls":
          [{"function": {"name": "f", "arguments": "{\"x\": [1, 2.5, null, true]}"}}]})"),
      conversation_of(R"({"role": "assistant", "content": "\u0003It "})")};
  for (const chat::Conversation& conversation : kConversations) {
    const auto spans = parsed->render(conversation, options);
    if (spans.ok()) check(*spans);
  }
  return 0;
}
