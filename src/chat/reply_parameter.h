// Parameters of calls that are written between marks, as JSON values.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "chat/reply_format.h"
#include "chat/tool_schema.h"

namespace minfer::chat {

/// The mark that ends the value of `key`, without the white space around it.
std::string parameter_end_mark(const CallFormat& format, std::string_view key);

/// The text of a whole value as JSON: JSON as it is; Python's words and texts; elements nested
/// between the format's own marks; anything else, and JSON text where the schema admits text only,
/// is a text.
std::string parameter_json(const CallFormat& format, std::string_view text, const Tool* tool,
                           std::string_view key);

}  // namespace minfer::chat
