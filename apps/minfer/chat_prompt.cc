#include "chat_prompt.h"

#include <fmt/format.h>

#include <ctime>

#include "chat/builtin_templates.h"
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

std::string builtin_names() {
  std::string names;
  for (const chat::BuiltinTemplate& one : chat::builtin_templates())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  return names;
}

/// --chat-template as text, name or file.
Result<std::string> given_template(const std::string& given,
                                   const std::vector<std::pair<std::string, std::string>>& named) {
  if (given.find("{%") != std::string::npos || given.find("{{") != std::string::npos) return given;
  for (const auto& [name, source] : named) {
    if (name == given) return source;
  }
  const std::string_view builtin = chat::find_builtin_template(given);
  if (!builtin.empty()) return std::string(builtin);
  auto source = read_file(given);
  if (!source.ok() && given.find('/') == std::string::npos) {
    return Status(
        source.status().code(),
        fmt::format("--chat-template: {}, and no template has this name ({} are built in)",
                    source.status().message(), builtin_names()));
  }
  return source;
}

}  // namespace

Result<chat::TemplateSources> template_sources(const Options& options, const gguf::File* file,
                                               const text::Tokenizer* tokenizer) {
  chat::TemplateSources sources;
  if (tokenizer != nullptr) {
    sources.tokens = {piece_of(*tokenizer, tokenizer->vocab().special().bos),
                      piece_of(*tokenizer, tokenizer->vocab().special().eos)};
  }
  if (file != nullptr) MINFER_RETURN_IF_ERROR(read_templates(*file, sources));
  if (!options.chat_template.empty()) {
    MINFER_ASSIGN_OR_RETURN(sources.main, given_template(options.chat_template, sources.named));
    sources.named.clear();
  }
  return sources;
}

Status no_template(std::string_view model) {
  return invalid_argument(
      fmt::format("{} has no chat template: --chat-template NAME|FILE gives one ({} are built in)",
                  model, builtin_names()));
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

Result<JsonValue> template_arguments(const Options& options) {
  if (options.chat_template_kwargs.empty()) return JsonValue{};
  auto arguments = parse_json(options.chat_template_kwargs);
  if (!arguments.ok()) return arguments.status().with_context("--chat-template-kwargs");
  if (arguments->object() == nullptr)
    return invalid_argument("--chat-template-kwargs: a JSON object is needed");
  return arguments;
}

SpanEncoder::SpanEncoder(const text::Tokenizer& tokenizer, const chat::ChatTemplate& chat)
    : SpanEncoder(tokenizer,
                  std::string(chat.source(false)) + "\n" + std::string(chat.source(true))) {}

Result<std::vector<std::int32_t>> SpanEncoder::encode(std::span<const chat::PromptSpan> spans,
                                                      bool at_start) {
  std::vector<text::TextSpan> views;
  for (const chat::PromptSpan& span : spans) views.push_back({span.text, span.from_template});
  return tokenizer_.encode(views, /*add_special=*/at_start, at_start, withheld_);
}

}  // namespace minfer::app
