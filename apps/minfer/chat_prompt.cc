#include "chat_prompt.h"

#include <ctime>

#include "prompt_input.h"

namespace minfer::app {
namespace {

std::string piece_of(const text::Tokenizer* tokenizer, std::int32_t id) {
  return tokenizer == nullptr || id < 0 ? std::string() : tokenizer->token_bytes(id);
}

}  // namespace

Result<std::string> choose_template(const Options& options, std::string_view model_template) {
  const std::string& given = options.chat_template;
  if (given.empty()) return std::string(model_template);
  if (given.find("{%") != std::string::npos || given.find("{{") != std::string::npos) return given;
  return read_file(given);
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

Result<std::vector<chat::PromptSpan>> render_messages(const Options& options,
                                                      std::string_view source, JsonValue messages,
                                                      const text::Tokenizer* tokenizer) {
  MINFER_ASSIGN_OR_RETURN(const chat::Template parsed, chat::Template::parse(source));
  chat::Conversation conversation;
  conversation.messages = std::move(messages);
  if (!options.chat_template_kwargs.empty()) {
    auto arguments = parse_json(options.chat_template_kwargs);
    if (!arguments.ok()) return arguments.status().with_context("--chat-template-kwargs");
    if (arguments->object() == nullptr)
      return invalid_argument("--chat-template-kwargs: a JSON object is needed");
    conversation.arguments = std::move(*arguments);
  }
  if (tokenizer != nullptr) {
    conversation.bos_token = piece_of(tokenizer, tokenizer->vocab().special().bos);
    conversation.eos_token = piece_of(tokenizer, tokenizer->vocab().special().eos);
  }
  chat::RenderOptions render;
  MINFER_ASSIGN_OR_RETURN(render.now, template_time(options.now));
  return chat::render_conversation(parsed, conversation, render);
}

Result<std::vector<std::int32_t>> encode_spans(const text::Tokenizer& tokenizer,
                                               const std::vector<chat::PromptSpan>& spans) {
  std::vector<text::TextSpan> views;
  for (const chat::PromptSpan& span : spans) views.push_back({span.text, span.from_template});
  return tokenizer.encode(views, /*add_special=*/true);
}

}  // namespace minfer::app
