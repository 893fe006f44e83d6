#include "run_prompt.h"

#include <fmt/format.h>

#include "chat_prompt.h"

namespace minfer::app {
namespace {

Result<std::vector<engine::TokenId>> chat_ids(const Options& options, chat::TemplateSources sources,
                                              JsonValue messages,
                                              const text::Tokenizer& tokenizer) {
  MINFER_ASSIGN_OR_RETURN(const auto chat, chat::ChatTemplate::create(std::move(sources)));
  MINFER_ASSIGN_OR_RETURN(const auto conversation, make_conversation(options, std::move(messages)));
  MINFER_ASSIGN_OR_RETURN(const auto render, render_options(options));
  MINFER_ASSIGN_OR_RETURN(const auto spans, chat.render(conversation, render));
  return SpanEncoder(tokenizer, chat).encode(spans, /*at_start=*/true);
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
    auto ids = chat_ids(options, std::move(sources), JsonValue{std::move(messages)}, *tokenizer);
    if (!ids.ok()) {
      return Status(ids.status().code(),
                    ids.status().message() + " (--raw leaves the template out)");
    }
    prompt.ids = std::move(*ids);
  }
  if (prompt.ids.empty()) {
    return invalid_argument("the prompt is empty and the model has no begin-of-text token");
  }
  return prompt;
}

}  // namespace minfer::app
