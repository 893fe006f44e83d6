// The prompt of a single run: raw, or a conversation through the model's chat template.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "chat/tool_schema.h"
#include "engine/logits_source.h"
#include "engine/tool_constraint.h"
#include "model/model.h"
#include "options.h"
#include "reply_reader.h"

namespace minfer::app {

struct Prompt {
  std::vector<engine::TokenId> ids;
  bool raw = false;
  std::string note;                         // for the user; may be empty
  std::shared_ptr<const ReplyShape> shape;  // how the reply will be written
  chat::ToolSet tools;                      // empty: none
  engine::ToolProgram tool_program;         // what calls of them must look like
};

/// The prompt that `text` makes with --system, --raw, --tools and the template options, or that of
/// --messages. Errors: the model has no tokenizer; what the template refuses; nothing would be run.
Result<Prompt> make_prompt(const model::Model& model, const Options& options,
                           const std::string& text);

}  // namespace minfer::app
