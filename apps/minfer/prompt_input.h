// Where a prompt comes from: the argument, -f files, a pipe on standard input.
#pragma once

#include <optional>
#include <string>

#include "base/json_reader.h"
#include "base/status.h"
#include "options.h"

namespace minfer::app {

/// All of a file, or of standard input for "-".
Result<std::string> read_file(const std::string& path);

/// The JSON document in it; errors name the path.
Result<JsonValue> read_json(const std::string& path);

/// `first`, a blank line, `second`.
std::string join_prompt(std::string first, const std::string& second);

/// The argument, then each file, then the pipe, with a blank line between them; nothing when there
/// is none of them. A pipe is read unless --no-stdin, or `-f -` has read it; an empty one adds
/// nothing to the others.
Result<std::optional<std::string>> read_prompt(const Options& options);

}  // namespace minfer::app
