// minfer render MODEL --messages F.json: the exact prompt of a conversation.
#include <fmt/format.h>

#include "chat/request.h"
#include "chat/tool_prompt.h"
#include "chat_prompt.h"
#include "commands.h"
#include "gguf/file.h"
#include "model/vocab_glue.h"
#include "prompt_input.h"
#include "terminal.h"

namespace minfer::app {
namespace {

/// A prompt, and the source of the template that wrote it.
struct Rendered {
  std::string source;
  std::vector<chat::PromptSpan> spans;
};

/// --context: all variables of the template at once.
Result<Rendered> render_context(const Options& options, std::string source) {
  MINFER_ASSIGN_OR_RETURN(const JsonValue context, read_json(options.context));
  if (context.object() == nullptr) {
    return invalid_argument(
        fmt::format("{}: the context of a template is a JSON object", options.context));
  }
  MINFER_ASSIGN_OR_RETURN(const chat::Template parsed, chat::Template::parse(source));
  MINFER_ASSIGN_OR_RETURN(const chat::RenderOptions render, render_options(options));
  MINFER_ASSIGN_OR_RETURN(const chat::Text text,
                          parsed.render(chat::Value::from_json(context), render));
  return Rendered{std::move(source), chat::to_spans(text)};
}

/// --messages: a list of messages, or the body of a request.
Result<Rendered> render_messages(const Options& options, chat::TemplateSources sources) {
  MINFER_ASSIGN_OR_RETURN(JsonValue body, read_json(options.messages));
  auto request = chat::read_request(std::move(body));
  if (!request.ok()) return request.status().with_context(options.messages);
  MINFER_ASSIGN_OR_RETURN(const auto chat, chat::ChatTemplate::create(std::move(sources)));
  MINFER_ASSIGN_OR_RETURN(JsonValue arguments, template_arguments(options));
  if (!arguments.is_null()) request->conversation.arguments = std::move(arguments);
  MINFER_ASSIGN_OR_RETURN(const bool described, chat::describe_tools(chat, *request));
  if (described) print_error(chat::kToolPromptNote);
  MINFER_ASSIGN_OR_RETURN(const chat::RenderOptions render, render_options(options));
  MINFER_ASSIGN_OR_RETURN(auto spans, chat.render(request->conversation, render));
  return Rendered{fmt::format("{}\n{}", chat.source(false), chat.source(true)), std::move(spans)};
}

}  // namespace

Result<int> render_command(const Invocation& invocation, const EnvSwitches&) {
  const Options& options = invocation.options;
  if (options.messages.empty() == options.context.empty())
    return invalid_argument("render needs --messages F.json or --context F.json, one of them");
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::optional<gguf::File> file;
  if (!options.model.empty()) {
    MINFER_ASSIGN_OR_RETURN(file, gguf::File::open(options.model));
    MINFER_ASSIGN_OR_RETURN(text::VocabSpec spec, model::read_vocab_spec(*file));
    MINFER_ASSIGN_OR_RETURN(tokenizer, text::Tokenizer::create(std::move(spec)));
  }
  MINFER_ASSIGN_OR_RETURN(chat::TemplateSources sources,
                          template_sources(options, file ? &*file : nullptr, tokenizer.get()));
  if (sources.empty()) return no_template(options.model);
  Rendered rendered;
  if (!options.context.empty()) {
    MINFER_ASSIGN_OR_RETURN(rendered, render_context(options, std::move(sources.main)));
  } else {
    MINFER_ASSIGN_OR_RETURN(rendered, render_messages(options, std::move(sources)));
  }
  Output out;
  if (options.ids) {
    if (tokenizer == nullptr) return invalid_argument("--ids needs a model");
    MINFER_ASSIGN_OR_RETURN(const auto ids,
                            SpanEncoder(*tokenizer, rendered.source).encode(rendered.spans, true));
    out.write(fmt::format("{}\n", fmt::join(ids, " ")));
  } else {
    std::string text;
    for (const chat::PromptSpan& span : rendered.spans) text += span.text;
    out.write(text);
  }
  MINFER_RETURN_IF_ERROR(out.status());
  return 0;
}

}  // namespace minfer::app
