#include "chat_prompt.h"

#include <ctime>

#include "prompt_input.h"

namespace minfer::app {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

std::string piece_of(const text::Tokenizer& tokenizer, std::int32_t id) {
  return id < 0 ? std::string() : tokenizer.token_bytes(id);
}

/// tokenizer.chat_template and tokenizer.chat_template.NAME.
Status read_templates(const gguf::File& file, chat::TemplateSources& sources) {
  MINFER_ASSIGN_OR_RETURN(sources.main, file.string_or(kTemplateKey, ""));
  for (const gguf::Entry& entry : file.metadata()) {
    if (!entry.key.starts_with(kTemplateKey) || entry.key.size() < kTemplateKey.size() + 2 ||
        entry.key[kTemplateKey.size()] != '.')
      continue;
    MINFER_ASSIGN_OR_RETURN(const std::string_view source, file.string(entry.key));
    sources.named.emplace_back(entry.key.substr(kTemplateKey.size() + 1), source);
  }
  return ok_status();
}

}  // namespace

Result<chat::TemplateSources> template_sources(const Options& options, const gguf::File* file,
                                               const text::Tokenizer* tokenizer) {
  chat::TemplateSources sources;
  if (tokenizer != nullptr) {
    sources.tokens = {piece_of(*tokenizer, tokenizer->vocab().special().bos),
                      piece_of(*tokenizer, tokenizer->vocab().special().eos)};
  }
  const std::string& given = options.chat_template;
  if (given.empty()) {
    if (file != nullptr) MINFER_RETURN_IF_ERROR(read_templates(*file, sources));
  } else if (given.find("{%") != std::string::npos || given.find("{{") != std::string::npos) {
    sources.main = given;
  } else {
    MINFER_ASSIGN_OR_RETURN(sources.main, read_file(given));
  }
  return sources;
}

Result<std::tm> template_time(const std::string& now) {
  std::tm time{};
  if (now.empty()) {
    const std::time_t clock = std::time(nullptr);
    ::localtime_r(&clock, &time);
    return time;
  }
  const char* rest = ::strptime(now.c_str(), "%Y-%m-%d %H:%M:%S", &time);
  if (rest == nullptr || *rest != '\0')
    return invalid_argument("--now: a time is written as in \"2026-03-14 15:09:26\"");
  return time;
}

Result<chat::RenderOptions> render_options(const Options& options) {
  chat::RenderOptions render;
  MINFER_ASSIGN_OR_RETURN(render.now, template_time(options.now));
  return render;
}

Result<chat::Conversation> make_conversation(const Options& options, JsonValue messages,
                                             JsonValue tools) {
  chat::Conversation conversation;
  conversation.messages = std::move(messages);
  conversation.tools = std::move(tools);
  if (!options.chat_template_kwargs.empty()) {
    auto arguments = parse_json(options.chat_template_kwargs);
    if (!arguments.ok()) return arguments.status().with_context("--chat-template-kwargs");
    if (arguments->object() == nullptr)
      return invalid_argument("--chat-template-kwargs: a JSON object is needed");
    conversation.arguments = std::move(*arguments);
  }
  return conversation;
}

Result<std::vector<std::int32_t>> encode_spans(const text::Tokenizer& tokenizer,
                                               const std::vector<chat::PromptSpan>& spans) {
  std::vector<text::TextSpan> views;
  for (const chat::PromptSpan& span : spans) views.push_back({span.text, span.from_template});
  return tokenizer.encode(views, /*add_special=*/true);
}

}  // namespace minfer::app
