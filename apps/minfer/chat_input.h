// ChatInput: where the messages of a chat come from.
//
// Thread-safety: none; one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "line_editor_input.h"
#include "line_editor_reader.h"

namespace minfer::app {

class ChatInput {
 public:
  virtual ~ChatInput() = default;
  /// The next message or command, or nothing at the end. `start`: what stands in the line at first,
  /// where it can be edited.
  virtual std::optional<TypedInput> next(std::string start) = 0;
  /// The key that answers a question, in lower case; nothing where nobody can answer.
  virtual std::optional<char> ask(std::string_view question) = 0;
  [[nodiscard]] virtual bool interactive() const = 0;
};

/// Through the line editor. `history` must outlive it and is added to; open_terminal() was true.
std::unique_ptr<ChatInput> make_terminal_input(ReaderOptions options, History& history);

/// Lines of standard input as they come. On a terminal that cannot be edited on, a prompt goes to
/// stderr.
std::unique_ptr<ChatInput> make_line_input(bool multiline);

}  // namespace minfer::app
