// Any bytes as a chat template, rendered over one conversation under small limits: no crash, no
// undefined behaviour, and no byte that only the request wrote is ever taken for the template's.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chat/conversation.h"

namespace {

using minfer::JsonValue;
namespace chat = minfer::chat;

chat::Conversation conversation() {
  chat::Conversation c;
  c.messages = *minfer::parse_json(
      R"([{"role": "system", "content": "\u0001s"}, {"role": "user", "content": " \u0001 a b "},
          {"role": "assistant", "content": null, "tool_calls":
           [{"function": {"name": "f", "arguments": "{\"x\": [1, 2.5, null, true]}"}}]}])");
  return c;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (source.find('\x01') != std::string_view::npos || source.find('\\') != std::string_view::npos)
    return 0;
  const auto parsed = chat::Template::parse(source);
  if (!parsed.ok()) return 0;
  chat::RenderOptions options;
  options.limits.steps = 100'000;
  options.limits.total_bytes = 1 << 20;
  static const chat::Conversation kConversation = conversation();
  const auto spans =
      chat::render_conversation(*parsed, {}, {"<s>", "</s>"}, kConversation, options);
  if (!spans.ok()) return 0;
  for (const chat::PromptSpan& span : *spans) {
    if (span.from_template && span.text.find('\x01') != std::string::npos) __builtin_trap();
  }
  return 0;
}
