// The prompt of a conversation, for a model or a template given by hand.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/chat_template.h"
#include "gguf/file.h"
#include "options.h"
#include "text/tokenizer.h"

namespace minfer::app {

/// The templates that hold: --chat-template (a file, or text with {% or {{), else those of the
/// model's file. `main` and `named` are empty where there are none. `file` and `tokenizer`, which
/// names BOS and EOS, may be null.
Result<chat::TemplateSources> template_sources(const Options& options, const gguf::File* file,
                                               const text::Tokenizer* tokenizer);

/// "2026-03-14 15:09:26" or, for an empty text, the clock.
Result<std::tm> template_time(const std::string& now);

/// --now.
Result<chat::RenderOptions> render_options(const Options& options);

/// `messages` and `tools` (or null) with --chat-template-kwargs.
Result<chat::Conversation> make_conversation(const Options& options, JsonValue messages,
                                             JsonValue tools = {});

/// Their ids: control tokens only out of the template's own text.
Result<std::vector<std::int32_t>> encode_spans(const text::Tokenizer& tokenizer,
                                               const std::vector<chat::PromptSpan>& spans);

}  // namespace minfer::app
