// When a typed text is a whole input, and what of it is the message.
//
// A line that ends in a backslash goes on in the next (an even number of backslashes is text); so
// does a text that opens with """ until one closes it. In multi-line mode every line goes on until
// an empty one.
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace minfer::app {

/// The text to go on with, where a line end at the end of `text` does not end the input.
std::optional<std::string> continued_input(std::string_view text, bool multiline);

struct TypedInput {
  std::string text;
  bool literal = false;  // written in """: never a command
};
/// The message of a whole input.
TypedInput finished_input(std::string_view text, bool multiline);

}  // namespace minfer::app
