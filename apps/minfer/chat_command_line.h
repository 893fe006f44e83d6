// What a person typed in a chat: a message, a command, or nearly a command.
//
// Only a known word behind a slash at the very start is a command, so that "/etc/fstab: what is
// it?" is a message; a blank in front of the slash makes any text one.
// Thread-safety: pure functions and constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace minfer::app {

enum class ChatCommand : std::uint8_t {
#define COMMAND(id, name, aliases, argument, help) k##id,
#include "chat_commands.def"
#undef COMMAND
};

struct ChatCommandRow {
  ChatCommand command;
  std::string_view name;
  std::string_view aliases;  // between blanks
  std::string_view argument;
  std::string_view help;
};
std::span<const ChatCommandRow> chat_command_table();

enum class ChatLineKind : std::uint8_t { kMessage, kCommand, kNearMiss };

struct ChatLine {
  ChatLineKind kind = ChatLineKind::kMessage;
  const ChatCommandRow* row = nullptr;  // of the command, or of the nearest one
  std::string word;                     // as it was typed, with its slash
  std::string text;                     // the message, or the command's argument
};
/// A near miss keeps the whole text as if it were a message.
ChatLine classify_chat_line(std::string_view text);

/// What completes the command word that `text` begins, as far as it is sure.
std::string complete_chat_command(std::string_view text);

/// /help: a line for each command, wrapped before `width`.
std::string chat_command_help(std::size_t width);

}  // namespace minfer::app
