// LineEditor: keys in, an edited text out; knows no terminal.
//
// Owns: the buffer, the place in the history, the search. Keys are those of Emacs.
// Thread-safety: none; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "history.h"
#include "key_decoder.h"
#include "line_editor_buffer.h"
#include "line_editor_view.h"

namespace minfer::app {

enum class EditAction : std::uint8_t {
  kNone,
  kSubmit,     // take() has the text
  kCleared,    // Ctrl+C in a text: it is gone
  kInterrupt,  // Ctrl+C in an empty line
  kEnd,        // Ctrl+D in an empty line
  kSuspend,    // Ctrl+Z
  kClearScreen,
};

struct LineEditorOptions {
  std::string prompt = "> ";
  std::string next_line = "  ";
  bool multiline = false;  // an empty line submits
  /// Whether a text is a command, which Enter submits in multi-line mode too.
  std::function<bool(std::string_view)> is_command;
  /// What Tab adds to a text that begins with a slash.
  std::function<std::string(std::string_view)> completion;
};

class LineEditor {
 public:
  /// `history` must outlive it; it is read alone.
  LineEditor(LineEditorOptions options, const History& history)
      : options_(std::move(options)), history_(history) {}

  EditAction handle(const KeyEvent& key);

  [[nodiscard]] const std::string& text() const { return buffer_.text(); }
  [[nodiscard]] bool searching() const { return searching_; }
  /// What to show; valid until the next key.
  [[nodiscard]] ViewText view() const;
  /// The same with the cursor at the end.
  [[nodiscard]] ViewText view_of_all() const;
  /// The text; the editor starts over.
  std::string take();
  /// Puts a text into the empty line.
  void set(std::string text) { buffer_.set(std::move(text)); }

 private:
  EditAction enter();
  EditAction control(char letter);
  void alt(char letter);
  void older();
  void newer();
  bool search_key(const KeyEvent& key);
  void search_from(std::size_t end);
  void end_search(bool keep);

  LineEditorOptions options_;
  const History& history_;
  EditBuffer buffer_;
  std::size_t back_ = 0;  // entries from the newest; 0: the draft
  std::string draft_;

  bool searching_ = false;
  bool found_ = true;
  std::string query_;
  std::size_t match_ = 0;  // index of the entry that is shown, or the number of entries
  std::string before_search_;
  std::string search_prompt_;
};

}  // namespace minfer::app
