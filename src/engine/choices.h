// Several replies to one prompt, drawn side by side: one prefill, and one forward a step for all of
// them. Choice i is what a run of its own with attempt i would draw, bit for bit, since no row of a
// forward depends on another.
// Thread-safety: one thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/generate.h"
#include "engine/session.h"

namespace minfer::engine {

/// What one choice is drawn with.
struct Choice {
  sampling::Sampler* sampler = nullptr;
  TokenBytes* bytes = nullptr;
  GenerateOptions options;
};

/// Prefills `prompt` behind the session's cursor and draws a reply with each of `choices` (at least
/// one). The session must have room for as many sequences; it ends at the prompt's end. Times are
/// of all together, in the first result. Errors: forking; a failed forward is in the results.
Result<std::vector<GenerateResult>> generate_choices(Session& session,
                                                     std::span<const Choice> choices,
                                                     std::span<const TokenId> prompt);

}  // namespace minfer::engine
