// ChatScreen: what a chat shows. Replies go to stdout, all else to stderr.
//
// On a terminal thoughts and notes are dimmed and control characters of the model are symbols; in a
// pipe replies are the model's bytes, each with a newline behind it, and thoughts go to stderr.
// Thread-safety: one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "options.h"
#include "terminal.h"

namespace minfer::app {

/// --color: auto is a terminal on stdout whose TERM is not dumb, unless NO_COLOR is set.
bool use_color(const Options& options);

struct ScreenOptions {
  bool color = false;
  bool quiet = false;
  bool hide_thoughts = false;  // a line in their place
  bool bare = false;           // in a pipe a reply gets no newline behind it
};

class ChatScreen {
 public:
  explicit ChatScreen(ScreenOptions options) : options_(options) {}

  /// A reply: prefill's progress, pieces of thought and answer, the end. The pieces give false once
  /// stdout is gone.
  void progress(double share);
  bool thought(std::string_view piece);
  bool answer(std::string_view piece);
  void end_reply();

  /// Lines for the person, dimmed.
  void note(std::string_view text);
  /// The same, unless --quiet.
  void remark(std::string_view text);
  /// What was asked for, as it is.
  void list(std::string_view text);
  void error(std::string_view text);

  [[nodiscard]] const Status& status() const { return out_.status(); }
  /// The columns for lists: of the terminal, or 80.
  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] bool color() const { return options_.color; }

 private:
  void set_dim(bool dim);

  ScreenOptions options_;
  Output out_;
  std::optional<ProgressBar> bar_;
  bool dim_ = false;           // thoughts are being shown on stdout
  bool begun_ = false;         // something of the reply was shown
  bool line_open_ = false;     // stdout is within a line
  bool thought_open_ = false;  // stderr is, by a thought
  bool thinking_ = false;      // the last piece was of a thought
};

}  // namespace minfer::app
