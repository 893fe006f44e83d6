// The messages of a conversation as JSON: for session files and for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/conversation.h"

namespace minfer::app {

/// One message, with a reply's own ids: {"role":..., "content":..., "ids":[...]}.
std::string message_record(const engine::Message& message);
/// The other way. kCorrupt: it is none.
Result<engine::Message> parse_message_record(std::string_view text);

/// What a session file keeps of a conversation beside messages, stream and pending.
std::string state_record(const engine::ConversationState& state);
Status parse_state_record(std::string_view text, engine::ConversationState& state);

}  // namespace minfer::app
