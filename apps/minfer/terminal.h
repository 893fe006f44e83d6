// What the program shows: text on stdout, everything else on stderr.
//
// Thread-safety: one thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace minfer::app {

bool is_terminal(int fd);

/// `text` with control characters as visible symbols (ESC is U+241B); newline and tab pass.
std::string visible_controls(std::string_view text);

/// Writes to stdout, unbuffered. On a terminal control characters are made visible; elsewhere the
/// bytes are untouched. The first failed write sticks.
class Output {
 public:
  Output();
  /// False once the reader is gone or the disk full; status() says why.
  bool write(std::string_view text);
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] bool terminal() const { return terminal_; }

 private:
  bool terminal_;
  Status status_;
};

/// One line on stderr: "minfer: TEXT".
void print_error(std::string_view text);
/// Text on stderr as it is; control characters visible on a terminal.
void print_note(std::string_view text);

/// A bar on stderr, only on a terminal and only where something takes longer than a moment.
class ProgressBar {
 public:
  ProgressBar(std::string label, bool enabled);
  ~ProgressBar();
  void update(double share);

 private:
  std::string label_;
  bool enabled_;
  bool drawn_ = false;
  int last_percent_ = -1;
  double start_seconds_;
};

/// kInvalidArgument: the name is empty, or it is the model's file.
Status check_output_file(const std::string& path, const std::string& model);

}  // namespace minfer::app
