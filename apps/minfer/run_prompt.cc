#include "run_prompt.h"

#include <fmt/format.h>

#include "chat/request.h"
#include "chat/tool_prompt.h"
#include "chat_prompt.h"
#include "prompt_input.h"

namespace minfer::app {
namespace {

/// --messages, or --system and the text; with --tools.
Result<chat::ChatRequest> make_request(const Options& options, const std::string& text) {
  chat::ChatRequest request;
  if (!options.messages.empty()) {
    MINFER_ASSIGN_OR_RETURN(JsonValue body, read_json(options.messages));
    auto read = chat::read_request(std::move(body));
    if (!read.ok()) return read.status().with_context(options.messages);
    request = std::move(*read);
  } else {
    JsonValue::Array messages;
    if (!options.system.empty()) messages.push_back(chat::make_message("system", options.system));
    messages.push_back(chat::make_message("user", text));
    request.conversation.messages = JsonValue{std::move(messages)};
  }
  MINFER_ASSIGN_OR_RETURN(JsonValue arguments, template_arguments(options));
  if (!arguments.is_null()) request.conversation.arguments = std::move(arguments);
  if (!options.tools.empty()) {
    MINFER_ASSIGN_OR_RETURN(const JsonValue tools, read_json(options.tools));
    auto set = chat::parse_tools(tools);
    if (!set.ok()) return set.status().with_context(options.tools);
    request.tools = std::move(*set);
  }
  if (!options.tools.empty() || !options.tool_choice.empty()) {
    auto choice = chat::parse_tool_choice(
        options.tool_choice.empty() ? std::string_view("auto") : options.tool_choice,
        request.tools);
    if (!choice.ok()) return choice.status().with_context("--tool-choice");
    request.tool_choice = std::move(*choice);
    const bool none = request.tool_choice.kind == chat::ToolChoice::Kind::kNone;
    request.conversation.tools = none ? JsonValue() : request.tools.json;
  }
  return request;
}

Status write_chat_prompt(const Options& options, chat::TemplateSources sources,
                         const std::string& text, const text::Tokenizer& tokenizer,
                         Prompt& prompt) {
  MINFER_ASSIGN_OR_RETURN(chat::ChatRequest request, make_request(options, text));
  const bool with_tools = !request.conversation.tools.is_null();
  MINFER_ASSIGN_OR_RETURN(const auto chat, chat::ChatTemplate::create(std::move(sources)));
  MINFER_ASSIGN_OR_RETURN(const bool described, chat::describe_tools(chat, request));
  if (described) prompt.note = chat::kToolPromptNote;
  MINFER_ASSIGN_OR_RETURN(const auto render, render_options(options));
  MINFER_ASSIGN_OR_RETURN(auto spans, chat.render(request.conversation, render));
  ReplyShape shape = ReplyShape::create(chat, with_tools, tokenizer);
  MINFER_ASSIGN_OR_RETURN(std::string suffix,
                          ask_reasoning(options, shape.format(), request.conversation.arguments));
  if (options.reasoning != "auto") {
    MINFER_ASSIGN_OR_RETURN(spans, chat.render(request.conversation, render));
  }
  if (!suffix.empty()) spans.push_back({std::move(suffix), true, -1});
  MINFER_ASSIGN_OR_RETURN(prompt.ids, SpanEncoder(tokenizer, chat).encode(spans, true));
  if (with_tools) {
    MINFER_ASSIGN_OR_RETURN(prompt.tool_program,
                            engine::compile_tool_program(shape.format(), request.tools,
                                                         {.choice = request.tool_choice,
                                                          .parallel = true,
                                                          .start = shape.start(prompt.ids),
                                                          .find_control = {}},
                                                         tokenizer));
    prompt.tools = std::move(request.tools);
  }
  prompt.shape = std::make_shared<const ReplyShape>(std::move(shape));
  return ok_status();
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
    for (const auto& [name, value] :
         {std::pair("--system", &options.system), std::pair("--tools", &options.tools),
          std::pair("--messages", &options.messages)}) {
      if (value->empty()) continue;
      return invalid_argument(
          fmt::format("{} needs a chat template, and this model has none", name));
    }
    prompt.raw = true;
    prompt.note = "the model has no chat template: completing the prompt as it is (--raw)";
  }
  if (prompt.raw) {
    prompt.shape = std::make_shared<const ReplyShape>(ReplyShape::plain(*tokenizer));
    MINFER_ASSIGN_OR_RETURN(prompt.ids,
                            tokenizer->encode(text, {.parse_special = true, .add_special = true}));
  } else {
    const Status written = write_chat_prompt(options, std::move(sources), text, *tokenizer, prompt);
    if (!written.ok()) {
      // --raw is of a text alone.
      const bool has_request = !options.messages.empty() || !options.system.empty() ||
                               !options.tools.empty() || !options.tool_choice.empty();
      return has_request
                 ? written
                 : Status(written.code(), written.message() + " (--raw leaves the template out)");
    }
  }
  if (prompt.ids.empty()) {
    return invalid_argument("the prompt is empty and the model has no begin-of-text token");
  }
  return prompt;
}

}  // namespace minfer::app
