#include "chat/chat_template.h"

#include <algorithm>

#include "chat/tool_schema.h"

namespace minfer::chat {

Result<ChatTemplate::Variant> ChatTemplate::make_variant(std::string source,
                                                         const TokenNames& tokens) {
  MINFER_ASSIGN_OR_RETURN(Template parsed, Template::parse(source));
  Abilities abilities = probe_template(parsed, tokens);
  return Variant{std::move(source), std::move(parsed), std::move(abilities)};
}

Result<ChatTemplate> ChatTemplate::create(TemplateSources sources) {
  const auto named = [&](std::string_view name) {
    const auto found =
        std::ranges::find(sources.named, name, &std::pair<std::string, std::string>::first);
    return found != sources.named.end() ? found->second : std::string();
  };
  ChatTemplate out;
  out.tokens_ = std::move(sources.tokens);
  const std::string with_tools = named("tool_use");
  std::string main = sources.main.empty() ? named("default") : std::move(sources.main);
  if (main.empty()) main = with_tools;
  if (main.empty()) return invalid_argument("there is no chat template");
  MINFER_ASSIGN_OR_RETURN(Variant variant, make_variant(std::move(main), out.tokens_));
  out.variants_.push_back(std::move(variant));
  if (!with_tools.empty()) {
    auto made = make_variant(with_tools, out.tokens_);
    if (!made.ok()) return made.status().with_context("tokenizer.chat_template.tool_use");
    out.variants_.push_back(std::move(*made));
  }
  return out;
}

const ChatTemplate::Variant& ChatTemplate::variant(bool with_tools) const {
  return with_tools ? variants_.back() : variants_.front();
}

const Abilities& ChatTemplate::abilities(bool with_tools) const {
  return variant(with_tools).abilities;
}

const Template& ChatTemplate::parsed(bool with_tools) const { return variant(with_tools).parsed; }

std::string_view ChatTemplate::source(bool with_tools) const { return variant(with_tools).source; }

Result<std::vector<PromptSpan>> ChatTemplate::render(const Conversation& conversation,
                                                     const RenderOptions& options) const {
  MINFER_RETURN_IF_ERROR(parse_tools(conversation.tools).status());
  const JsonValue::Array* tools = conversation.tools.array();
  const bool with_tools = tools != nullptr && !tools->empty();
  const Variant& chosen = variant(with_tools);
  if (with_tools && chosen.abilities.usable && !chosen.abilities.tools)
    return unsupported("the chat template has no tool support");
  return render_conversation(chosen.parsed, chosen.abilities, tokens_, conversation, options);
}

}  // namespace minfer::chat
