// TerminalReader: reads one input after another from a terminal, with the line editor.
//
// Owns: what was typed and not used yet, the view. Between two inputs the terminal is busy
// (terminal_mode.h); keys that are typed meanwhile stay for the next.
// Thread-safety: none; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "history.h"
#include "key_decoder.h"
#include "line_editor.h"
#include "line_editor_view.h"

namespace minfer::app {

struct ReaderOptions {
  LineEditorOptions editor;
  bool color = true;
  /// Called with the text while nobody types; true: there is more to do. Should return within some
  /// hundredths of a second.
  std::function<bool(std::string_view)> idle;
  /// Milliseconds without a key that the first call for a new text waits.
  std::function<int()> pause;
};

class TerminalReader {
 public:
  enum class End : std::uint8_t { kText, kLeave };
  struct Read {
    End end = End::kLeave;
    std::string text;
  };

  /// `history` must outlive it. open_terminal() was true.
  TerminalReader(ReaderOptions options, const History& history);

  /// Reads an input; `start` stands in the line at first. kLeave: Ctrl+D, Ctrl+C twice, or the
  /// terminal is gone.
  Read read(std::string start = {});

  /// Shows a question; the key that answers it, in lower case, 0 for one that is no letter.
  char ask(std::string_view question);

 private:
  enum class Event : std::uint8_t { kNone, kKeys, kQuiet, kRedraw, kGone };

  Event wait();
  Event after_signal();
  bool read_keys();
  std::optional<Read> use_keys();
  void act(EditAction action);
  void draw();
  void write(std::string_view bytes);

  ReaderOptions options_;
  LineEditor editor_;
  KeyDecoder decoder_;
  LineView view_;
  std::deque<KeyEvent> keys_;
  bool typed_ = false;        // since `idle` was called last
  bool idle_ = false;         // there may be something to do
  bool interrupted_ = false;  // Ctrl+C in an empty line was the last key
};

}  // namespace minfer::app
