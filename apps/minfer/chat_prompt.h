// The prompt of a conversation, for a model or a template given by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/status.h"
#include "chat/conversation.h"
#include "model/model.h"
#include "options.h"

namespace minfer::app {

/// The source that holds: --chat-template (a file, or text with {% or {{), else the model's own;
/// empty where there is none. `model_template` may be empty.
Result<std::string> choose_template(const Options& options, std::string_view model_template);

/// "2026-03-14 15:09:26" or, for an empty text, the clock.
Result<std::tm> template_time(const std::string& now);

/// The spans of `messages` under the template `source`, with --chat-template-kwargs. `tokenizer`
/// names BOS and EOS and may be null.
Result<std::vector<chat::PromptSpan>> render_messages(const Options& options,
                                                      std::string_view source, JsonValue messages,
                                                      const text::Tokenizer* tokenizer);

/// Their ids: control tokens only out of the template's own text.
Result<std::vector<std::int32_t>> encode_spans(const text::Tokenizer& tokenizer,
                                               const std::vector<chat::PromptSpan>& spans);

}  // namespace minfer::app
