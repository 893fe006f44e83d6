// Prefixes: prompts computed once (minfer prime) and gone on with (--prefix).
//
// A prefix changes no text: of the prompt's tokens, those that the file begins with have their rows
// already, the others are run. Any session file is a prefix too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/session_file.h"
#include "load.h"

namespace minfer::app {

/// SessionState::extra of a file that `prime` made: no conversation is lost with it.
inline constexpr std::string_view kPrefixMark = "prefix";

struct PrefixUse {
  std::int32_t n_tokens = 0;  // of the prompt; their rows are in the session
  std::string note;  // for the user; empty: the prompt begins with all of the file's tokens
};

/// Brings all of the file's tokens into the session, which must be empty, and returns them. Errors:
/// as below; kOutOfRange: they do not fit in the context.
Result<std::vector<engine::TokenId>> take_prefix(const std::string& path, const Loaded& loaded,
                                                 backend::KvFormat format,
                                                 engine::Session& session);

/// Brings what `prompt` has in common with the file into the session, which must be empty; the last
/// token of the prompt stays to be run. Errors: no such file, one of another model or KV type.
Result<PrefixUse> use_prefix(const std::string& path, const Loaded& loaded,
                             const SessionChoice& choice, std::span<const engine::TokenId> prompt);

}  // namespace minfer::app
