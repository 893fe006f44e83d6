// The token ids of a single prompt: raw, or through the model's chat template.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/logits_source.h"
#include "model/model.h"
#include "options.h"

namespace minfer::app {

struct Prompt {
  std::vector<engine::TokenId> ids;
  bool raw = false;
  std::string note;  // for the user; may be empty
};

/// The prompt that `text` makes with --system, --raw and the template options. Errors: the model
/// has no tokenizer; what the template refuses; nothing would be run.
Result<Prompt> make_prompt(const model::Model& model, const Options& options,
                           const std::string& text);

}  // namespace minfer::app
