#include "run_prompt.h"

#include <fmt/format.h>

#include "chat_prompt.h"

namespace minfer::app {
namespace {

Result<std::vector<chat::PromptSpan>> chat_spans(const Options& options,
                                                 chat::TemplateSources sources,
                                                 JsonValue messages) {
  MINFER_ASSIGN_OR_RETURN(const auto chat, chat::ChatTemplate::create(std::move(sources)));
  chat::Conversation conversation;
  conversation.messages = std::move(messages);
  MINFER_ASSIGN_OR_RETURN(conversation.arguments, template_arguments(options));
  MINFER_ASSIGN_OR_RETURN(const auto render, render_options(options));
  return chat.render(conversation, render);
}

}  // namespace

Result<Prompt> make_prompt(const model::Model& model, const Options& options,
                           const std::string& text) {
  const text::Tokenizer* tokenizer = model.tokenizer();
  if (tokenizer == nullptr || !tokenizer->has_text()) {
    return unsupported(fmt::format(
        "{} has no tokenizer: only `minfer logits MODEL --tokens` can run it", options.model));
  }
  Prompt prompt;
  prompt.raw = options.raw;
  MINFER_ASSIGN_OR_RETURN(chat::TemplateSources sources,
                          template_sources(options, &model.file(), tokenizer));
  if (!options.raw && sources.empty()) {
    prompt.raw = true;
    prompt.note = "the model has no chat template: completing the prompt as it is (--raw)";
    if (!options.system.empty()) {
      return invalid_argument("--system needs a chat template, and this model has none");
    }
  }
  if (prompt.raw) {
    MINFER_ASSIGN_OR_RETURN(prompt.ids,
                            tokenizer->encode(text, {.parse_special = true, .add_special = true}));
  } else {
    JsonValue::Array messages;
    if (!options.system.empty()) messages.push_back(chat::make_message("system", options.system));
    messages.push_back(chat::make_message("user", text));
    const auto spans = chat_spans(options, std::move(sources), JsonValue{std::move(messages)});
    if (!spans.ok()) {
      return Status(spans.status().code(),
                    spans.status().message() + " (--raw leaves the template out)");
    }
    MINFER_ASSIGN_OR_RETURN(prompt.ids, encode_spans(*tokenizer, *spans));
  }
  if (prompt.ids.empty()) {
    return invalid_argument("the prompt is empty and the model has no begin-of-text token");
  }
  return prompt;
}

}  // namespace minfer::app
