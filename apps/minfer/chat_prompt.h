// The prompt of a conversation, for a model or a template given by hand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/chat_template.h"
#include "engine/chat_prompt.h"
#include "gguf/file.h"
#include "options.h"
#include "text/tokenizer.h"

namespace minfer::app {

/// The templates that hold: --chat-template, else those of the model's file. --chat-template is
/// text (with {% or {{), the name of one of the model's own or of a built-in one, or a file.
/// sources.empty() where there are none. `file` and `tokenizer`, which names BOS and EOS, may be
/// null.
Result<chat::TemplateSources> template_sources(const Options& options, const gguf::File* file,
                                               const text::Tokenizer* tokenizer);

/// What is wrong where `model` has no template and one is needed: what to do, and the built-in
/// names.
Status no_template(std::string_view model);

/// "2026-03-14 15:09:26" or, for an empty text, the clock.
Result<std::tm> template_time(const std::string& now);

/// --now.
Result<chat::RenderOptions> render_options(const Options& options);

/// --chat-template-kwargs: an object of further variables, or null.
Result<JsonValue> template_arguments(const Options& options);

/// Spans to ids under one template. Control tokens come only out of the template's own text, and so
/// do user-defined tokens that stand in its source.
class SpanEncoder final : public engine::PromptEncoder {
 public:
  /// The tokenizer must outlive it.
  SpanEncoder(const text::Tokenizer& tokenizer, std::string_view template_source)
      : tokenizer_(tokenizer), withheld_(tokenizer.user_defined_in(template_source)) {}
  SpanEncoder(const text::Tokenizer& tokenizer, const chat::ChatTemplate& chat);

  Result<std::vector<std::int32_t>> encode(std::span<const chat::PromptSpan> spans,
                                           bool at_start) override;

 private:
  const text::Tokenizer& tokenizer_;
  std::vector<std::int32_t> withheld_;
};

}  // namespace minfer::app
