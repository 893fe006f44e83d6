#include "chat/conversation.h"

#include "chat/messages.h"

namespace minfer::chat {
namespace {

/// Stands where a continued reply ends: no text that anybody would write.
constexpr std::string_view kEndMark = "\x01minfer-continue\x01";

}  // namespace

JsonValue make_message(std::string_view role, std::string_view content) {
  JsonValue::Object members;
  members.emplace_back("role", JsonValue{std::string(role)});
  members.emplace_back("content", JsonValue{std::string(content)});
  return JsonValue{std::move(members)};
}

std::vector<PromptSpan> to_spans(const Text& text) {
  std::vector<PromptSpan> spans;
  std::size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    spans.push_back({text.bytes().substr(begin, run.end - begin), run.origin == Origin::kTemplate,
                     message_of(run.origin)});
    begin = run.end;
  }
  return spans;
}

Result<std::vector<PromptSpan>> render_conversation(const Template& source,
                                                    const Abilities& abilities,
                                                    const TokenNames& tokens,
                                                    const Conversation& conversation,
                                                    const RenderOptions& options) {
  MINFER_ASSIGN_OR_RETURN(auto messages, read_messages(conversation.messages));
  adapt_messages(messages, abilities, source.mentions("developer"));
  ChatMessage& last = messages.back();
  const bool continued = last.role == "assistant" && last.calls() == nullptr;
  if (continued) last.content.append(kEndMark, Origin::kRequest);

  ContextParts parts;
  parts.tokens = &tokens;
  parts.arguments = &conversation.arguments;
  parts.tools = &conversation.tools;
  parts.add_generation_prompt = !continued;
  MINFER_ASSIGN_OR_RETURN(const Text text,
                          source.render(make_context(messages, abilities, parts), options));
  if (!continued) return to_spans(text);
  const std::size_t mark = text.bytes().rfind(kEndMark);
  if (mark == std::string::npos)
    return invalid_argument(
        "the last message is the assistant's, to be continued, and the template drops its text");
  return to_spans(text.sub(0, mark));
}

}  // namespace minfer::chat
